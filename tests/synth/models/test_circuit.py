from synth.models.servers.circuit import Circuit


def test_three_failures_in_a_row_open_it_and_an_answer_between_them_does_not() -> None:
    circuit = Circuit(lambda: 0.0)
    assert [circuit.failed(), circuit.failed()] == [False, False]
    circuit.answered()
    assert [circuit.failed(), circuit.failed(), circuit.failed()] == [False, False, True]
    assert circuit.open


def test_one_failure_that_says_enough_opens_it_at_once_and_it_opens_once() -> None:
    circuit = Circuit(lambda: 0.0)
    assert [circuit.failed(at_once=True), circuit.failed(at_once=True)] == [True, False]


def test_an_open_one_is_probed_after_waits_that_double_up_to_thirty_seconds() -> None:
    now = [0.0]
    circuit = Circuit(lambda: now[0])
    assert not circuit.due()
    circuit.failed(at_once=True)
    probed = []
    for tenth in range(1300):
        now[0] = tenth / 10
        if circuit.due():
            probed.append(now[0])
    assert probed == [1, 3, 7, 15, 31, 61, 91, 121]
    circuit.answered()
    assert (circuit.open, circuit.due()) == (False, False)


def test_a_server_that_probes_well_but_fails_calls_is_left_alone_longer_each_time() -> None:
    now = [0.0]
    circuit = Circuit(lambda: now[0])
    circuit.failed(at_once=True)
    opened = []
    for tenth in range(1000):
        now[0] = tenth / 10
        if circuit.due():
            circuit.probed_well()
            opened.append(now[0])
            assert circuit.failed(), "one failure is enough"
    assert opened == [1, 3, 7, 15, 31, 61, 91]
