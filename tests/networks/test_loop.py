"""The one training loop: which epoch is kept, when it ends, what it writes down."""

from __future__ import annotations

import pytest
from torch import nn

from epilens.networks.loop import Extension, Schedule, train_epochs


def scripted(reached, schedule):
    """Train a network whose one weight is the number of the epoch; the judge reads a script."""
    network, script = nn.Linear(1, 1, bias=False).requires_grad_(False), iter(reached)
    network.weight.zero_()

    def epoch():
        network.weight.add_(1)  # in place: what was kept must be a copy
        return network.weight.item() / 10

    def judge():
        value = next(script)
        return value, (f"judged {value}",)

    rows = train_epochs(network, epoch, judge, schedule)
    return rows, network.weight.item()


def ones(*values):
    return [(value,) for value in values]


def test_the_best_epoch_is_kept_and_the_first_of_equal_ones():
    rows, kept = scripted(ones(0.1, 0.5, 0.3, 0.5), Schedule(4, 9))
    assert kept == 2
    assert [row[-1] for row in rows] == [True, True, False, False]


def test_epochs_are_compared_from_left_to_right():
    rows, kept = scripted([(0.5, 0.1), (0.5, 0.2), (0.4, 0.9)], Schedule(3, 9))
    assert kept == 2
    assert [row[-1] for row in rows] == [True, True, False]


def test_a_row_has_number_loss_and_what_the_judge_writes_down():
    rows, _ = scripted(ones(0.1, 0.5), Schedule(2, 9))
    assert rows[1] == (2, pytest.approx(0.2), "judged (0.5,)", True)


@pytest.mark.parametrize(
    ("patience", "least", "run"), [(1, 0, 3), (2, 0, 4), (2, 6, 6), (2, 3, 4), (9, 0, 10)]
)
def test_patience_ends_training_but_not_before_the_least_epochs(patience, least, run):
    script = ones(0.1, 0.5, *[0.2] * 20)
    rows, kept = scripted(script, Schedule(10, patience, least))
    assert (len(rows), kept) == (run, 2)


def test_the_schedule_is_extended_only_where_it_ends_improving():
    rising = ones(*[0.01 * i for i in range(30)])
    assert len(scripted(rising, Schedule(6, 9))[0]) == 6
    assert len(scripted(rising, Schedule(6, 9, extension=Extension()))[0]) == 10
    flat = ones(0.1, *[0.05] * 30)
    assert len(scripted(flat, Schedule(6, 9, extension=Extension()))[0]) == 6


def test_an_extension_has_its_own_numbers():
    reached = [0.5, 0.5, 0.5, 0.5, 0.51]
    assert Extension(last=1).epochs(reached, 5) == 8
    assert Extension(last=1, gain=0.02).epochs(reached, 5) == 5
    assert Extension(last=1, factor=(2, 1)).epochs(reached, 5) == 10
