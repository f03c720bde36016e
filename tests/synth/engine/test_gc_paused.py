import gc

from synth.engine.runs.event_loop import THRESHOLDS, gc_paused


def test_collection_is_rarer_within_and_as_before_afterwards() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with gc_paused():
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > frozen
        assert gc.isenabled()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
