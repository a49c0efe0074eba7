"""What engines print about speculative decoding, as formulas over counts: one name means several things among them."""
