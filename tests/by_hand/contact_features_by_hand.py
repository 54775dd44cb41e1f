"""The 33 contact features by loops, from the description of the published table; no epilens here.

Filters run forwards and backwards over the samples (SciPy), not as gains of a spectrum.
"""

import math

import numpy as np
import scipy.signal

BANDS_HZ = [(1, 4), (4, 8), (8, 12), (15, 25), (35, 50), (80, 150)]


def filtered(x, fs, mains_hz):
    """Notches (Q = 30) at mains and harmonics below 250 Hz, common average, elliptic 1-250 Hz."""
    x = np.array(x, float)
    k, reach = 1, min(250, 0.95 * fs / 2)
    while k * mains_hz < reach:
        b, a = scipy.signal.iirnotch(k * mains_hz, 30, fs)
        x = scipy.signal.filtfilt(b, a, x, axis=-1, padlen=round(4 * fs))
        k += 1
    for t in range(x.shape[1]):
        x[:, t] -= sum(x[:, t]) / len(x)
    band, kind = ((1, 250), "bandpass") if fs / 2 > 255 else (1, "highpass")
    sos = scipy.signal.ellip(4, 0.5, 60, band, kind, fs=fs, output="sos")
    return scipy.signal.sosfiltfilt(sos, x, axis=-1, padlen=round(4 * fs))


def welch(x, fs):
    """Mean periodogram of 2 s segments that overlap by half, Hann, without their means."""
    n = round(2 * fs)
    taper = [0.5 - 0.5 * math.cos(2 * math.pi * i / n) for i in range(n)]
    energy, total, count = sum(t * t for t in taper), 0, 0
    for first in range(0, len(x) - n + 1, n - n // 2):
        part = x[first : first + n]
        mean = sum(part) / n
        power = np.abs(np.fft.fft([(v - mean) * t for v, t in zip(part, taper, strict=True)])) ** 2
        power = power[: n // 2 + 1] / (fs * energy)
        # Negative frequencies count for the positive ones; 0 and Nyquist have no partner.
        power[1 : (n + 1) // 2] *= 2
        total, count = total + power, count + 1
    return [k * fs / n for k in range(n // 2 + 1)], total / count


def measures(x, fs):
    """The eleven of one window of one channel."""
    f, power = welch(x, fs)
    out = [
        sum(p for hz, p in zip(f, power, strict=True) if low <= hz <= high) * (f[1] - f[0])
        for low, high in BANDS_HZ
    ]
    n, mean = len(x), sum(x) / len(x)
    m2, m3, m4 = (sum((v - mean) ** k for v in x) / n for k in (2, 3, 4))
    out += [m2, m3 / m2**1.5, m4 / m2**2 - 3]
    out.append(sum(abs(x[t] - x[t - 1]) for t in range(1, n)) / (n - 1))
    share = [p / sum(power) for p in power]
    out.append(-sum(s * math.log2(s) for s in share if s > 0))
    return out


def features(x, fs, start_s, mains_hz):
    """(channel, 33): means, then standard deviations, then maxima over five windows of 12 s."""
    y, n, rows = filtered(x, fs, mains_hz), round(12 * fs), []
    for channel in y:
        windows = []
        for begin_s in (-30, -18, -6, 6, 18):
            first = math.floor((begin_s - start_s) * fs + 1e-6)
            windows.append(measures(channel[first : first + n], fs))
        columns = list(zip(*windows, strict=True))
        means = [sum(c) / 5 for c in columns]
        sds = [
            math.sqrt(sum((v - m) ** 2 for v in c) / 5) for c, m in zip(columns, means, strict=True)
        ]
        rows.append([*means, *sds, *(max(c) for c in columns)])
    return rows
