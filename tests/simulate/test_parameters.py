"""Parameters: read, checked, written."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from specdiag.errors import InputError, SpecdiagError, UsageError
from specdiag.simulate.parameters import Drafter, Parameters
from tests.simulate.pools import STUDY


@pytest.mark.parametrize("parameters", [Parameters(), STUDY])
def test_what_is_shown_can_be_read_again(parameters: Parameters, tmp_path: Path) -> None:
    """The YAML of any parameters gives the same parameters."""
    path = tmp_path / "p.yaml"
    path.write_text(parameters.to_yaml())
    assert Parameters.read(path) == parameters


def test_every_field_says_what_it_means() -> None:
    """No parameter is shown without a comment."""
    lines = Parameters().to_yaml().splitlines()
    for name in (*Parameters.__struct_fields__, *Drafter.__struct_fields__):
        index = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{name}:"))
        assert lines[index - 1].strip().startswith("# ")


def test_what_is_not_named_keeps_its_default(tmp_path: Path) -> None:
    """A file overrides what it names only; an empty one nothing."""
    path = tmp_path / "p.yaml"
    path.write_text("quorum: 3\n")
    assert Parameters.read(path) == msgspec.structs.replace(Parameters(), quorum=3)
    path.write_text("")
    assert Parameters.read(path) == Parameters()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("quorum: 4", "quorum: 4 of 3 drafters"),
        ("planner: nobody", "planner: nobody"),
        ("splice: 2", "splice"),
        ("colour: red", "colour"),
        ("[1, 2]", "object"),
        ("drafters: []", "drafters"),
        ("request_sd: .nan", "request_sd"),
        ("verifier_pass_ms: .inf", "verifier_pass_ms"),
        ("a: !!python/object/apply:os.getcwd []", "not YAML"),
        ("a: [", "not YAML"),
    ],
)
def test_what_cannot_be_is_one_clear_error(text: str, says: str, tmp_path: Path) -> None:
    """Broken YAML, unknown names and impossible values are named."""
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(SpecdiagError, match=says):
        Parameters.read(path)


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(InputError, match=r"none\.yaml"):
        Parameters.read(tmp_path / "none.yaml")


def test_two_drafters_of_one_name_or_domain_are_refused() -> None:
    """A drafter's id and domain are its own."""
    one = STUDY.drafters[0]
    for twin in (msgspec.structs.replace(one, id="other"), msgspec.structs.replace(one, domain="other"), None):
        with pytest.raises(UsageError, match="each with its own"):
            msgspec.structs.replace(STUDY, drafters=(one, twin) if twin else (one,), planner=one.id)
