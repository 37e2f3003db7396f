"""Which sample of a run is which window of which source (docs/data.md, "The order of samples"): numbers alone, no files."""
import heapq
import math

MASK32 = 0xFFFFFFFF
DATA_ORDER, DATA_SPLIT = 2, 4  # purposes of random numbers


def random_bits(seed, purpose, stream, index):
    """64 bits of Philox4x32-10."""
    c, k0, k1 = [index & MASK32, index >> 32, purpose, stream], seed & MASK32, seed >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(second >> 32) ^ c[1] ^ k0, second & MASK32, (first >> 32) ^ c[3] ^ k1, first & MASK32]
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
    return c[1] << 32 | c[0]


def permuted(key, size, value):
    """Where the permutation of [0, size) with that key (seed, purpose, stream) sends a value."""
    bits = (size - 1).bit_length()
    high_bits, low_bits = bits // 2, bits - bits // 2
    while True:
        high, low = value >> low_bits, value & ((1 << low_bits) - 1)
        for turn in range(24):
            if turn % 2 == 0:
                low ^= random_bits(*key, turn << 32 | high) & ((1 << low_bits) - 1)
            else:
                high ^= random_bits(*key, turn << 32 | low) & ((1 << high_bits) - 1)
        value = high << low_bits | low
        if value < size:
            return value


def split_place(windows, place):
    """The window that has a place among all of a source: the first places are validation's, the others are trained on."""
    return permuted((0, DATA_SPLIT, 0), windows, place)


def validation_place(places, number):
    """The place, among the validation places of all sources one source behind the other, of a validation sample."""
    return permuted((0, DATA_SPLIT, 1), places, number)


def training_place(seed, source, windows, number):
    """The place, among the `windows` of a source that are trained on, of the sample that is its `number`th."""
    seed_of_pass = random_bits(seed, DATA_ORDER, source, number // windows)
    return permuted((seed_of_pass, DATA_ORDER, 0), windows, number % windows)


def half_up(x):
    return math.floor(x + 0.5)


class Mixture:
    """Shares samples out to sources of positive weights by a tree of choices between two parts."""

    def __init__(self, weights):
        weights = [w / max(weights) for w in weights]
        self.nodes = [(max(1, half_up(w / sum(weights) * 2**52)), None, None) for w in weights]
        parts = [(node[0], i) for i, node in enumerate(self.nodes)]
        heapq.heapify(parts)
        while len(parts) > 1:
            (_, left), (_, right) = heapq.heappop(parts), heapq.heappop(parts)
            weight = self.nodes[left][0] + self.nodes[right][0]
            heapq.heappush(parts, (weight, len(self.nodes)))
            self.nodes.append((weight, left, right))

    def turn(self, sample):
        """The source of a sample, and how many samples that source had before."""
        at = len(self.nodes) - 1
        while self.nodes[at][1] is not None:
            weight, left, right = self.nodes[at]
            slope = (self.nodes[left][0] << 63) // weight
            before = (slope * sample + (1 << 62)) >> 63
            goes_left = (slope * (sample + 1) + (1 << 62)) >> 63 > before
            at, sample = (left, before) if goes_left else (right, sample - before)
        return at, sample
