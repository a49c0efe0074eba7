"""Language models that run here, one module each."""
