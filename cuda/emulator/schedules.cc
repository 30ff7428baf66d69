// The schedule orders: in which order the blocks of a launch, the warps of a block and the lanes of a warp run. A result that differs from one
// order to another shows a race.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cuemu/scheduler.h"

namespace cuemu {

CUEMU_PLAIN uint64_t mix(uint64_t x) {
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

namespace {

uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

}  // namespace

// parse_order reads "forward", "reverse", "random:SEED" or "greedy:SEED".
bool parse_order(const char *text, Order *order) {
	const char *colon = strchr(text, ':');
	size_t n = colon ? static_cast<size_t>(colon - text) : strlen(text);
	Order wanted = {FORWARD, 0};
	auto is = [&](const char *name) { return strlen(name) == n && strncmp(text, name, n) == 0; };
	if (is("forward")) wanted.policy = FORWARD;
	else if (is("reverse")) wanted.policy = REVERSE;
	else if (is("random")) wanted.policy = RANDOM;
	else if (is("greedy")) wanted.policy = GREEDY;
	else return false;
	bool seeded = wanted.policy == RANDOM || wanted.policy == GREEDY;
	if (seeded != (colon != nullptr)) return false;
	if (seeded) {
		char *end;
		wanted.seed = strtoull(colon + 1, &end, 10);
		if (colon[1] < '0' || colon[1] > '9' || *end) return false;
	}
	*order = wanted;
	return true;
}

// fill_of gives orders other bytes: NaN, which fmaxf drops; large positive and negative numbers in every format of floats; numbers of some size.
unsigned char fill_of(const Order &order) {
	const unsigned char fills[] = {0xff, 0x7b, 0xfb, 0xc3};
	return fills[(order.policy + order.seed) % sizeof fills];
}

// set_block_order: forward 0, 1, 2 ...; reverse from the last; else an affine permutation that the seed chooses.
void set_block_order(LaunchState &l, const Order &order) {
	l.stride = 1;
	l.shift = 0;
	free(l.ascending);
	l.ascending = nullptr;
	if (order.policy == REVERSE) {
		l.stride = l.blocks - 1;
		l.shift = l.blocks - 1;
	} else if (order.policy == RANDOM || order.policy == GREEDY) {
		uint64_t x = (order.seed + 1) * 0x9e3779b97f4a7c15u;
		l.shift = x % l.blocks;
		for (l.stride = (x >> 20) % l.blocks; greatest_common_divisor(l.stride, l.blocks) != 1; l.stride = (l.stride + 1) % l.blocks) {
		}
	}
	if (l.blocks == 1) l.stride = l.shift = 0;
}

// grid_position is the block that comes as the i-th.
CUEMU_PLAIN uint64_t grid_position(uint64_t i) {
	const LaunchState &l = current_launch;
	if (l.ascending && i >= l.ascending_from) return l.ascending[i - l.ascending_from];
	return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * l.stride + l.shift) % l.blocks);
}

// set_ascending: blocks that wait for others of lower numbers get those next, as a GPU starts them.
void set_ascending(LaunchState &l, uint64_t from) {
	const uint64_t most = 1 << 20;
	if (l.ascending || from >= l.blocks || l.blocks - from > most) return;
	uint64_t *rest = static_cast<uint64_t *>(malloc((l.blocks - from) * sizeof *rest));
	if (!rest) return;
	for (uint64_t i = from; i < l.blocks; i++) rest[i - from] = grid_position(i);
	std::sort(rest, rest + (l.blocks - from));
	l.ascending_from = from;
	l.ascending = rest;
}

CUEMU_PLAIN uint3 thread_index(unsigned linear) {
	uint3 index;
	index.x = linear % blockDim.x;
	index.y = linear / blockDim.x % blockDim.y;
	index.z = linear / blockDim.x / blockDim.y;
	return index;
}

CUEMU_PLAIN void block_index(uint64_t i, uint3 *index) {
	index->x = static_cast<unsigned>(i % gridDim.x);
	index->y = static_cast<unsigned>(i / gridDim.x % gridDim.y);
	index->z = static_cast<unsigned>(i / gridDim.x / gridDim.y);
}

// set_ranks gives the warps of a block their ranks: under greedy orders those with low ranks go first.
CUEMU_PLAIN void set_ranks(Worker &w, uint64_t block) {
	bool shuffled = w.order.policy == RANDOM || w.order.policy == GREEDY;
	uint64_t state = mix(w.order.seed * 0x100000001b3u + block);
	w.random = state;
	for (unsigned i = 0; i < w.warps; i++) w.warp_at[i] = static_cast<uint8_t>(w.order.policy == REVERSE ? w.warps - 1 - i : i);
	for (unsigned i = w.warps; shuffled && i > 1; i--) {
		state = mix(state);
		unsigned other = static_cast<unsigned>((state >> 32) % i);
		uint8_t kept = w.warp_at[i - 1];
		w.warp_at[i - 1] = w.warp_at[other];
		w.warp_at[other] = kept;
	}
	for (unsigned i = 0; i < w.warps; i++) {
		w.rank_of[w.warp_at[i]] = static_cast<uint8_t>(i);
		w.warp[i].down = w.order.policy == REVERSE || (shuffled && (state >> i & 1));
	}
}

// random_bit picks one of the bits that are set.
CUEMU_PLAIN unsigned random_bit(Worker &w, uint32_t bits) {
	w.random = mix(w.random);
	unsigned skip = static_cast<unsigned>(w.random >> 33) % __builtin_popcount(bits);
	while (skip--) bits &= bits - 1;
	return __builtin_ctz(bits);
}

// demote: under strict priorities a warp that yields goes to the last rank, else a spinning lane would keep the one it waits for from running.
CUEMU_PLAIN void demote(Worker &w, unsigned warp) {
	for (unsigned r = w.rank_of[warp]; r + 1 < w.warps; r++) {
		w.warp_at[r] = w.warp_at[r + 1];
		w.rank_of[w.warp_at[r]] = static_cast<uint8_t>(r);
	}
	w.warp_at[w.warps - 1] = static_cast<uint8_t>(warp);
	w.rank_of[warp] = static_cast<uint8_t>(w.warps - 1);
	w.ready = 0;
	for (unsigned i = 0; i < w.warps; i++)
		if (w.warp[i].runnable) w.ready |= 1u << w.rank_of[i];
}

}  // namespace cuemu
