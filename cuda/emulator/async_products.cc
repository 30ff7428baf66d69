// Products of a warpgroup (wgmma). Descriptors, the 128-byte swizzle and the distribution over lanes are as the PTX manual has them; each warp
// multiplies its own 16 of the 64 rows, and reads all of b. A product runs when it is issued, when it is waited for, or between, so it reads its
// operands, registers too, at the earliest and at the latest moment. Until the wait the accumulators hold NaN and belong to the product.
#include "cuemu/async_state.h"
#include "cuemu/fiber_hooks.h"

namespace cuemu {

namespace {

const uint32_t ACCUMULATOR = 1, OPERAND = 2, FENCE = 5; // of a word of Async::registers

struct Field {
	uint32_t start, leading, eights;
};

Field field_of(uint64_t descriptor) {
	return {static_cast<uint32_t>(descriptor & 0x3FFF) << 4, static_cast<uint32_t>(descriptor >> 16 & 0x3FFF) << 4, static_cast<uint32_t>(descriptor >> 32 & 0x3FFF) << 4};
}

// place: where byte `k` along the reduction of row or column i lies, as an address of shared memory. Across: 64 of i, two bytes each, lie
// together, panels of them the leading offset apart, and k counts elements.
uint32_t place(const Field &f, bool across, uint32_t i, uint32_t k) {
	const uint32_t at = across ? f.start + i / 64 * f.leading + k / 8 * f.eights + k % 8 * 128 + i % 64 * 2 : f.start + i / 8 * f.eights + i % 8 * 128 + k;
	return at ^ (at >> 7 & 7) << 4;
}

// An address of shared memory is an offset in the arena from here on: hopper/shared_address.cuh numbers them so.
const uint32_t DYNAMIC_BEGINS = 2048 + 16;
uint32_t in_arena(const Worker &w, uint32_t address) {
	return static_cast<uint32_t>(current_launch.dynamic_of(w.arena) - w.arena) + address - DYNAMIC_BEGINS;
}

// each_chunk calls f with every 16 bytes, as arena offset / 16, that a warp reads of an operand: rows or columns [first, first + count).
template <class F> void each_chunk(const Worker &w, uint64_t descriptor, bool across, int first, int count, F f) {
	const Field field = field_of(descriptor);
	if (across) {
		for (uint32_t k = 0; k < 16; k++)
			for (int i = first; i < first + count; i += 8) f(in_arena(w, place(field, true, static_cast<uint32_t>(i), k)) / 16);
		return;
	}
	for (int i = first; i < first + count; i++)
		for (uint32_t k = 0; k < 32; k += 16) f(in_arena(w, place(field, false, static_cast<uint32_t>(i), k)) / 16);
}

template <class F> void each_chunk_of(const Worker &w, const Product &p, F f) {
	if (!p.registers[0]) each_chunk(w, p.a, p.a_across, p.rows_from, 16, f);
	each_chunk(w, p.b, p.b_across, 0, p.cols, f);
}

uint32_t *words_of(Worker &w, const void *p) {
	const char *c = static_cast<const char *>(p);
	const size_t offset = static_cast<size_t>(c - w.stacks);
	return offset < (MAX_THREADS + 1) * STACK_STRIDE ? w.async->registers + offset / 4 : nullptr;
}

WarpProducts &products_of(Async &a, unsigned warp) {
	if (!a.warps[warp]) a.warps[warp] = new WarpProducts();
	return *a.warps[warp];
}

float not_a_number() {
	const uint32_t bits = 0x7FFFFFFF;
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

// ---- the arithmetic

void read_operands(Worker &w, const Product &p, OperandValues &v) {
	const Field a = field_of(p.a), b = field_of(p.b);
	const char *shared = w.arena + in_arena(w, 0);
	const auto half = [&](const Field &f, bool across, int i, int k) {
		uint16_t bits;
		memcpy(&bits, shared + static_cast<int32_t>(place(f, across, static_cast<uint32_t>(i), static_cast<uint32_t>(across ? k : 2 * k))), 2);
		return static_cast<double>(p.decode16(bits));
	};
	const auto held_byte = [&](const uint32_t *held, int row, int k) {
		return static_cast<double>(p.decode[held[row / 8 + k / 16 * 2] >> (k % 4 * 8) & 0xFFu]);
	};
	const auto byte = [&](const Field &f, const float *decode, int i, int k) {
		const uint8_t bits = static_cast<uint8_t>(shared[static_cast<int32_t>(place(f, false, static_cast<uint32_t>(i), static_cast<uint32_t>(k)))]);
		return static_cast<double>(decode[bits]);
	};
	if (p.decode) {
		for (int k = 0; k < 32; k++) {
			for (int row = 0; row < 16; row++) {
				const uint32_t *held = p.registers[row % 8 * 4 + k % 16 / 4];
				v.a[row][k] = held ? held_byte(held, row, k) : byte(a, p.decode, p.rows_from + row, k);
			}
			for (int col = 0; col < p.cols; col++) v.b[k][col] = byte(b, p.decode_b, col, k);
		}
		return;
	}
	for (int k = 0; k < 16; k++) {
		for (int row = 0; row < 16; row++) {
			const uint32_t *held = p.registers[row % 8 * 4 + k % 8 / 2];
			v.a[row][k] = held ? static_cast<double>(p.decode16(held[row / 8 + k / 8 * 2] >> (k % 2 * 16) & 0xFFFFu)) : half(a, p.a_across, p.rows_from + row, k);
		}
		for (int col = 0; col < p.cols; col++) v.b[k][col] = half(b, p.b_across, col, k);
	}
}

// add_integer: the bits of sum are a 32-bit integer.
void add_integer(float &sum, bool add, double more) {
	uint32_t bits;
	memcpy(&bits, &sum, sizeof bits);
	bits = (add ? bits : 0) + static_cast<uint32_t>(static_cast<int32_t>(more));
	memcpy(&sum, &bits, sizeof bits);
}

void run_product(Worker &w, Product &p, Sums &s) {
	OperandValues &v = w.async->values;
	double *const d = v.d;
	p.done = true;
	read_operands(w, p, v);
	const int depth = p.decode ? 32 : 16;
	for (int row = 0; row < 16; row++) {
		for (int col = 0; col < p.cols; col++) d[col] = 0;
		for (int k = 0; k < depth; k++)
			for (int col = 0; col < p.cols; col++) d[col] += v.a[row][k] * v.b[k][col];
		for (int t = 0; t < 4; t++)
			for (int n = 0; n < p.cols / 8; n++)
				for (int e = 0; e < 2; e++) {
					float &sum = s.value[row % 8 * 4 + t][4 * n + row / 8 * 2 + e];
					const double more = d[8 * n + 2 * t + e];
					if (p.integers) add_integer(sum, p.add, more);
					else sum = static_cast<float>((p.add ? static_cast<double>(sum) : 0) + more);
				}
	}
}

// run_until runs the products of the groups before `group` that have not run, in order.
void run_until(Worker &w, WarpProducts &products, uint32_t group) {
	for (Product &p : products.list) {
		if (static_cast<int32_t>(p.group - group) >= 0) break;
		if (!p.done) run_product(w, p, products.sums[p.sums]);
	}
}

// ---- what may be issued

// check_registers: what a lane hands in as registers has not been written since its last fence, and its accumulators are no operand.
void check_registers(Worker &w, Async &a, uint32_t thread, const Issued &lane, bool chained) {
	const Origin at = {lane.file, lane.line};
	const uint32_t fence = a.fences[thread];
	if (!a.fenced[thread]) wrong(w, at, "wgmma.mma_async with no wgmma.fence before it in this kernel (thread %u)", thread);
	const auto check = [&](const void *from, int count, const char *what) {
		const uint32_t *words = words_of(w, from);
		for (int i = 0; words && i < count; i++)
			if (words[i] >> FENCE == fence) wrong(w, at, "%s %d of thread %u was written since the last wgmma.fence", what, i, thread);
	};
	if (!chained) check(lane.d, lane.cols / 2, "accumulator");
	if (lane.registers) check(lane.registers, 4, "register operand");
}

void check_operands(Worker &w, Async &a, uint32_t first_thread, const Product &p) {
	each_chunk_of(w, p, [&](uint32_t chunk) {
		const uint32_t begin = chunk * 16, end = begin + 16;
		if (end > ARENA_BYTES) wrong(w, p.at, "a descriptor of wgmma that points out of shared memory");
		check_destination(w, a, begin, end, p.at, "wgmma");
		bool seen = false;
		uint32_t byte = end;
		for (uint32_t lane = 0; lane < 32 && !seen; lane++) {
			byte = unseen(a, first_thread + lane, begin, end);
			seen = byte == end;
		}
		if (seen) return;
		const uint32_t by = a.written[byte] & THREAD_BITS;
		if (a.written[byte] & BY_COPY && by >= w.threads) {
			const MBarrier &b = a.barriers[by - w.threads];
			wrong(w, p.at, "wgmma reads %s, which was copied, and this warp has not waited for the copy's mbarrier (initialised at %s:%d)", byte_of(w, byte).text, b.init.file, b.init.line);
		}
		wrong(w, p.at, "wgmma reads %s, which thread %u wrote, with no fence.proxy.async and barrier between", byte_of(w, byte).text, by);
	});
}

Sums &sums_for(Worker &w, WarpProducts &products, void *const *lanes, int *index) {
	const Issued &any = *static_cast<const Issued *>(lanes[0]);
	int free = -1;
	for (int i = 0; i < WarpProducts::most_sums; i++) {
		Sums &s = products.sums[i];
		if (s.count == 0) free = i;
		else if (s.d[0] == any.d) {
			*index = i;
			if (s.count != any.cols / 2) wrong(w, {any.file, any.line}, "accumulators of %d columns, which a product of %d columns still changes (%s:%d)", any.cols, s.count * 2, s.at.file, s.at.line);
			return s;
		}
	}
	if (free < 0) wrong(w, {any.file, any.line}, "more than %d sets of accumulators are in flight", WarpProducts::most_sums);
	*index = free;
	return products.sums[free];
}

void begin_sums(Worker &w, Sums &s, void *const *lanes) {
	const Issued &any = *static_cast<const Issued *>(lanes[0]);
	s.count = any.cols / 2;
	s.products = 0;
	for (uint32_t lane = 0; lane < 32; lane++) {
		const Issued &own = *static_cast<const Issued *>(lanes[lane]);
		s.d[lane] = own.d;
		uint32_t *words = words_of(w, own.d);
		for (int i = 0; i < s.count; i++) {
			s.value[lane][i] = own.d[i];
			own.d[i] = not_a_number();
			if (words) words[i] = ACCUMULATOR;
		}
	}
}

// give_back gives the lanes the sums whose last product is of a group before `group`.
void give_back(Worker &w, WarpProducts &products, uint32_t group) {
	for (Sums &s : products.sums) {
		if (s.count == 0 || static_cast<int32_t>(s.last - group) >= 0) continue;
		for (int lane = 0; lane < 32; lane++) {
			uint32_t *words = words_of(w, s.d[lane]);
			for (int i = 0; i < s.count; i++) {
				uint32_t bits;
				memcpy(&bits, s.d[lane] + i, sizeof bits);
				if (bits != 0x7FFFFFFF) wrong(w, s.at, "accumulator %d of lane %d was written while this product was to change it", i, lane);
				s.d[lane][i] = s.value[lane][i];
				if (words) words[i] = 0;
			}
		}
		s.count = 0;
	}
}

void release(Worker &w, Async &a, const Product &p) {
	each_chunk_of(w, p, [&](uint32_t chunk) { a.reading[chunk]--; });
	for (const uint32_t *held : p.registers)
		if (uint32_t *words = held ? words_of(w, held) : nullptr)
			for (int i = 0; i < 4; i++) words[i] -= OPERAND;
}

}  // namespace

const Product *product_reading(const Async &a, uint32_t chunk) {
	for (const WarpProducts *products : a.warps) {
		if (!products) continue;
		for (const Product &p : products->list) {
			bool reads = false;
			each_chunk_of(*this_worker, p, [&](uint32_t c) { reads |= c == chunk; });
			if (reads) return &p;
		}
	}
	return nullptr;
}

// forget_products: the block has ended.
void forget_products(Async &a) {
	for (WarpProducts *products : a.warps) {
		if (!products) continue;
		if (!products->list.empty()) {
			const Product &p = products->list.front();
			report(CUEMU_TRAP, p.at.file, p.at.line, "the block ended before this product had been waited for");
		}
		products->list.clear();
		products->committed = 0;
		for (Sums &s : products->sums) s.count = 0;
	}
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

void cuemu_wgmma_fence(const char *, int) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	a.fences[w.current] = ++a.last_fence; // no other thread's: blocks give a stack to one thread after another
	a.fenced[w.current] = true;
}

void cuemu_wgmma_issue(void *const *lanes) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const Issued &any = *static_cast<const Issued *>(lanes[0]);
	const Origin at = {any.file, any.line};
	const uint32_t first = static_cast<uint32_t>(any.warp) * 32;
	WarpProducts &products = products_of(a, static_cast<unsigned>(any.warp));
	if (products.list.size() == 256) wrong(w, at, "256 products that nobody waits for");
	for (int lane = 0; lane < 32; lane++)
		if (!lanes[lane]) wrong(w, at, "wgmma is for all 32 lanes of a warp, and lane %d is not there", lane);
	int number;
	Sums &s = sums_for(w, products, lanes, &number);
	const bool chained = s.count != 0;
	for (uint32_t lane = 0; lane < 32; lane++) check_registers(w, a, first + lane, *static_cast<const Issued *>(lanes[lane]), chained);
	Product p = {};
	p.at = at, p.decode = any.decode, p.decode_b = any.decode_b, p.decode16 = any.decode16, p.a = any.a, p.b = any.b;
	p.a_across = any.a_across, p.b_across = any.b_across, p.add = any.add, p.integers = any.integers, p.cols = any.cols, p.rows_from = any.warp % 4 * 16;
	p.sums = number, p.group = products.committed;
	for (int lane = 0; lane < 32; lane++) p.registers[lane] = static_cast<const Issued *>(lanes[lane])->registers;
	check_operands(w, a, first, p);
	if (!chained) begin_sums(w, s, lanes);
	each_chunk_of(w, p, [&](uint32_t chunk) { a.reading[chunk]++; });
	for (const uint32_t *held : p.registers)
		if (uint32_t *words = held ? words_of(w, held) : nullptr)
			for (int i = 0; i < 4; i++) words[i] += OPERAND;
	s.at = at, s.last = products.committed;
	products.list.push_back(p);
	if (a.completion == EARLY) run_until(w, products, products.committed + 1);
}

void cuemu_wgmma_commit(void *const *lanes) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	WarpProducts &products = products_of(a, static_cast<unsigned>(static_cast<const Waited *>(lanes[0])->warp));
	products.committed++;
	if (a.completion == SHUFFLED && random_below(a, 2)) run_until(w, products, products.committed);
}

void cuemu_wgmma_wait(void *const *lanes) {
	Unseen books;
	Worker &w = *this_worker;
	Async &a = activate(w);
	const Waited &any = *static_cast<const Waited *>(lanes[0]);
	WarpProducts &products = products_of(a, static_cast<unsigned>(any.warp));
	const uint32_t group = products.committed - static_cast<uint32_t>(any.pending);
	run_until(w, products, group);
	while (!products.list.empty() && static_cast<int32_t>(products.list.front().group - group) < 0) {
		release(w, a, products.list.front());
		products.list.pop_front();
	}
	if (any.pending == 0 && !products.list.empty())
		wrong(w, products.list.front().at, "this product was not committed, and the wait at %s:%d does not cover it", any.file, any.line);
	give_back(w, products, group);
}

}  // extern "C"
