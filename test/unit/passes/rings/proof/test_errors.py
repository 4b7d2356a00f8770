"""Messages of errors of rings."""

from tirx.passes.rings.proof.errors import DeadlockError


def test_an_error_reads_as_its_message():
    error = DeadlockError("found a wait for ever", 3, [("there", 4)])
    assert (str(error), error.message, error.origin, error.others) == (
        "found a wait for ever",
        "found a wait for ever",
        3,
        (("there", 4),),
    )
