"""Hot loops of the attention, compiled by numba; they release the interpreter's lock."""

from __future__ import annotations

import numba


@numba.njit(cache=True, nogil=True)
def drop(share, bits, cut, kept):
    """Write shares whose bits reach `cut` to `kept`, else 0; the others become negative in `share`.

    All are flat. So one array remembers both the shares and which of them were dropped.
    """
    for i in range(share.size):
        value, stays = share[i], bits[i] >= cut
        kept[i] = value if stays else 0
        share[i] = value if stays else -value


@numba.njit(cache=True, nogil=True)
def score_gradient(gradient, share, common, kept):
    """Replace the gradient of shares by that of scores; write shares that stayed to `kept`.

    All but `common` (R,) are (R, C). share : as `drop` leaves it. common : what softmax takes
    from every score of a row.
    """
    for row in range(gradient.shape[0]):
        for i in range(gradient.shape[1]):
            value = share[row, i]
            stayed = value if value > 0 else value - value  # 0 of the same precision
            kept[row, i] = stayed
            gradient[row, i] = gradient[row, i] * stayed - abs(value) * common[row]
