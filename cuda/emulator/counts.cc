// What a profiler would show first of a kernel's accesses, for `triad check --explain`: the k-th accesses of a line by
// the lanes of a warp, between two barriers of the block, are one request. Of device memory the sectors of 32 bytes that a request touches are counted, of
// shared memory the wavefronts: as many as there are different words in the bank that has most. And the k-th time that
// lanes of a warp come to one stretch of code without a branch is one run of it: with fewer lanes than the warp has, the
// warp has diverged.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cuemu/check.h"

namespace cuemu {

namespace {

struct Request {
	uint32_t pc = 0;
	int how = 0;
	bool shared = false;
	std::vector<std::pair<uintptr_t, uint32_t>> lanes;  // address and bytes
};

// Total of a line and kernel. least is what the requests need at best, bytes what their lanes moved.
struct Total {
	uint64_t requests = 0, lanes = 0, parts = 0, least = 0, bytes = 0;
};

struct Launched {
	uint64_t launches = 0, blocks = 0, threads = 0, shared_bytes = 0;
};

const int RUN = 8;                                 // in the place of an access: a run of code

using Line = std::tuple<std::string, uint32_t, bool, int>;  // kernel, address, shared, how
std::map<Line, Total> &totals = *new std::map<Line, Total>;
std::map<std::string, Launched> &kernels = *new std::map<std::string, Launched>;
// Book is what is open of the block that a worker runs: blocks may run beside each other.
struct Book {
	std::unordered_map<uint64_t, uint32_t> times;  // accesses so far, by address and thread
	std::unordered_map<uint64_t, Request> requests;
	std::unordered_map<uint64_t, std::vector<uint32_t>> runs;  // by address and warp: lanes of the k-th
	std::unordered_map<uint64_t, uint32_t> visits;             // by address and thread
};
std::unordered_map<const Worker *, Book> &books = *new std::unordered_map<const Worker *, Book>;

template <class T> uint64_t different(std::vector<T> &list) {
	uint64_t n = 0;
	for (size_t i = 0; i < list.size(); i++) {
		bool before = false;
		for (size_t k = 0; k < i && !before; k++) before = list[k] == list[i];
		n += !before;
	}
	return n;
}

uint64_t sectors(const Request &r) {
	std::vector<uintptr_t> touched;
	for (const auto &l : r.lanes)
		for (uintptr_t s = l.first / 32; s <= (l.first + l.second - 1) / 32; s++) touched.push_back(s);
	return different(touched);
}

// wavefronts of shared memory: 32 banks of four bytes; lanes with 8 or 16 bytes go in 2 or 4 turns.
uint64_t wavefronts(const Request &r, uint64_t *least) {
	const uint32_t bytes = r.lanes[0].second, turn = bytes >= 16 ? 8 : bytes >= 8 ? 16 : 32;
	uint64_t all = 0;
	for (size_t first = 0; first < r.lanes.size(); first += turn) {
		std::vector<uintptr_t> bank[32];
		for (size_t i = first; i < r.lanes.size() && i < first + turn; i++)
			for (uintptr_t word = r.lanes[i].first / 4; word <= (r.lanes[i].first + r.lanes[i].second - 1) / 4; word++)
				bank[word % 32].push_back(word);
		uint64_t most = 0;
		for (auto &words : bank) {
			const uint64_t n = different(words);
			if (n > most) most = n;
		}
		all += most;
		++*least;
	}
	return all;
}

const char *kernel_name() {
	const Job &job = current_launch.job;
	return job.kernel ? job.kernel : "";
}

void finish(const Request &r) {
	Total &t = totals[{kernel_name(), r.pc, r.shared, r.how}];
	uint64_t bytes = 0;
	for (const auto &l : r.lanes) bytes += l.second;
	t.requests++;
	t.lanes += r.lanes.size();
	t.bytes += bytes;
	if (r.shared) {
		t.parts += wavefronts(r, &t.least);
	} else {
		const uint64_t touched = sectors(r), full = (bytes + 31) / 32;
		t.parts += touched;
		t.least += full < touched ? full : touched;  // lanes with one address share its bytes
	}
}

}  // namespace

bool counting = getenv("CUEMU_COUNTS") != nullptr;   // not where nothing is watched: these come from there

void count_meeting(const Worker &w) {
	Book &b = books[&w];
	for (auto &r : b.requests) finish(r.second);
	b.requests.clear();
	b.times.clear();
	for (const auto &of : b.runs) {
		const uint32_t warp = static_cast<uint32_t>(of.first & 31), rest = w.threads - warp * 32, all = rest < 32 ? rest : 32;
		Total &t = totals[{kernel_name(), static_cast<uint32_t>(of.first >> 5), false, RUN}];
		for (const uint32_t lanes : of.second) {
			t.requests++;
			t.lanes += lanes;
			t.parts += lanes < all;
		}
	}
	b.runs.clear();
	b.visits.clear();
}

void count_launch() {
	for (auto &b : books) count_meeting(*b.first);
	const Job &job = current_launch.job;
	Launched &k = kernels[kernel_name()];
	k.launches++;
	k.blocks += uint64_t(job.grid.x) * job.grid.y * job.grid.z;
	k.threads = uint64_t(job.block.x) * job.block.y * job.block.z;
	const uint64_t bytes = job.shared_bytes + current_launch.static_used.load();
	if (k.shared_bytes < bytes) k.shared_bytes = bytes;
}

void count_access(Worker &w, const void *p, size_t bytes, int how, Pc pc, bool shared) {
	const uint32_t thread = thread_of(w), at = offset_in_program(pc);
	Book &b = books[&w];
	const uint32_t nth = b.times[uint64_t(at) << 16 | thread]++;
	const uint64_t key = (uint64_t(at) << 32 | uint64_t(nth) << 6 | thread / 32) ^ (shared ? uint64_t(1) << 63 : 0);
	Request &r = b.requests[key];
	r.pc = at;
	r.how = how & (WRITES | ATOMIC);
	r.shared = shared;
	r.lanes.push_back({reinterpret_cast<uintptr_t>(p), static_cast<uint32_t>(bytes)});
	const uint32_t of_warp = w.threads - thread / 32 * 32 < 32 ? w.threads - thread / 32 * 32 : 32;
	if (r.lanes.size() < of_warp) return;
	finish(r);
	b.requests.erase(key);
}

void count_run(Worker &w, Pc pc) {
	const uint32_t thread = thread_of(w);
	const uint64_t at = offset_in_program(pc);
	Book &b = books[&w];
	const uint32_t nth = b.visits[at << 10 | thread]++;
	std::vector<uint32_t> &lanes = b.runs[at << 5 | thread / 32];
	if (lanes.size() <= nth) lanes.resize(nth + 1);
	lanes[nth]++;
}

static const char *access_name(int how) {
	if (how == RUN) return "run";
	if (how & ATOMIC) return how & WRITES ? "atomic" : "load";
	return how & WRITES ? "write" : "read";
}

static void write_counts() {
	FILE *f = fopen(getenv("CUEMU_COUNTS"), "w");
	if (!f) return;
	auto number = [f](const char *name, uint64_t value) { fprintf(f, ",\"%s\":%llu", name, static_cast<unsigned long long>(value)); };
	for (const auto &k : kernels) {
		fprintf(f, "{\"kernel\":\"%s\"", k.first.c_str());
		number("launches", k.second.launches);
		number("blocks", k.second.blocks);
		number("threads", k.second.threads);
		number("shared_bytes", k.second.shared_bytes);
		fprintf(f, "}\n");
	}
	for (const auto &l : totals) {
		const int how = std::get<3>(l.first);
		fprintf(f, "{\"kernel\":\"%s\",\"place\":{\"offset\":%u},\"memory\":\"%s\",\"access\":\"%s\"", std::get<0>(l.first).c_str(),
		        std::get<1>(l.first), how == RUN ? "" : std::get<2>(l.first) ? "shared" : "device", access_name(how));
		number("requests", l.second.requests);
		number("lanes", l.second.lanes);
		number("parts", l.second.parts);
		number("least", l.second.least);
		number("bytes", l.second.bytes);
		fprintf(f, "}\n");
	}
	fclose(f);
}

}  // namespace cuemu

__attribute__((destructor)) static void counts_at_the_end() {
	if (cuemu::counting) cuemu::write_counts();
}

// The compiler calls this at the start of every stretch of code, in programs that are built for counts.
extern "C" __attribute__((visibility("default"))) CUEMU_PLAIN void __sanitizer_cov_trace_pc(void) {
	using namespace cuemu;
	if (counting && watching && this_worker && this_worker->in_block) count_run(*this_worker, __builtin_return_address(0));
}
