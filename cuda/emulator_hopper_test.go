package cuda

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// hopperBug is a bug of hopper_zoo.cu and how it must be reported, at its line, in all orders or in the named
// ones.
type hopperBug struct {
	name, text string
	orders     []string
}

var hopperBugs = []hopperBug{
	{"copy_no_wait", "has not", allOrders},
	{"copy_write_early", "a write to byte", lateOrders},
	{"copy_source", "a write to what the copy of", lateOrders},
	{"copy_twice", "a copy touches byte", allOrders},
	{"copy_before_release", "dynamic shared memory, which thread 0 wrote", allOrders},
	{"copy_other_barrier", "has not", allOrders},
	{"async_no_wait", "has not been waited for", allOrders},
	{"async_no_barrier", "", allOrders},
	{"async_no_commit", "has not been waited for", allOrders},
	{"async_too_few", "has not been waited for", allOrders},
	{"async_write_early", "has not been waited for", allOrders},
	{"async_source", "a write to what the copy of", lateOrders},
	{"wgmma_read_early", "a read of an accumulator", allOrders},
	{"wgmma_write_early", "a write to an accumulator", allOrders},
	{"wgmma_register", "a write to a register operand", allOrders},
	{"wgmma_no_fence", "no wgmma.fence", allOrders},
	{"wgmma_sum_unfenced", "accumulator 0 of thread", allOrders},
	{"wgmma_operand_unfenced", "register operand 0 of thread", allOrders},
	{"wgmma_no_commit", "this product was not committed", allOrders},
	{"wgmma_store_early", "a write to byte", allOrders},
	{"wgmma_copy_early", "which the product of", allOrders},
	{"wgmma_no_copy_wait", "", allOrders},
	{"wgmma_no_wait", "the block ended before this product", allOrders},
	{"proxy_no_fence", "with no fence.proxy.async and barrier between", allOrders},
	{"proxy_late_store", "with no fence.proxy.async and barrier between", allOrders},
	{"proxy_bystander", "with no fence.proxy.async and barrier between", allOrders},
	{"proxy_one_fences", "with no fence.proxy.async and barrier between", allOrders},
	{"proxy_copy", "with no fence.proxy.async between", allOrders},
	{"barrier_too_many", "more than the 1 arrivals", lateOrders},
	{"barrier_never", "wait in an mbarrier", allOrders},
	{"barrier_no_fence", "no fence.mbarrier_init", allOrders},
	{"barrier_no_sync", "no barrier of the block lies between", []string{"forward"}},
	{"barrier_not_made", "not initialised", []string{"forward"}},
	{"barrier_bytes", "an mbarrier counts to 1048575", allOrders},
	{"barrier_overtaken", "ended 3 phases", allOrders},
	{"barrier_overwritten", "was written over", allOrders},
	{"named_counts", "named barrier 1 of", allOrders},
	{"named_missing", "", allOrders},
	{"named_number", "named barrier 16", allOrders},
	{"registers_too_many", "more registers than the launch holds", allOrders},
	{"registers_raise", "setmaxnreg.inc to 32", allOrders},
	{"registers_lower", "setmaxnreg.dec to 240", allOrders},
}

// multicastBugs lists the bugs of multicast_zoo.cu.
var multicastBugs = []hopperBug{
	{"each_not_released", "has not been waited for", allOrders[:5]},
	{"each_early", "has not initialised its mbarriers", []string{"forward"}},
	{"each_rank", "block 2 of a cluster of 2", allOrders},
	{"each_nobody", "a copy to no block of the cluster", allOrders},
	{"each_unaligned", "a copy begins in the middle of 16 bytes of its source", allOrders},
	{"each_ended", "block 1 of the cluster has ended", allOrders},
	{"each_other_barrier", "not initialised in another block of the cluster", allOrders},
}

// bulkBugs lists the bugs of bulk_zoo.cu.
var bulkBugs = []hopperBug{
	{"bytes_no_wait", "has not", allOrders},
	{"bytes_odd", "want multiples of 16", allOrders},
	{"sums_no_fence", "with no fence.proxy.async and barrier between", allOrders},
	{"sums_no_barrier", "", allOrders},
	{"sums_write_early", "which the addition of", allOrders},
	{"sums_no_commit", "this addition was not committed", allOrders},
	{"sums_no_wait", "the block ended before this addition", allOrders},
	{"sums_other_waits", "the block ended before this addition", allOrders},
}

// lateOrders lists the orders in which a copy is made late. In the others it may be made at once, and then
// what follows is right.
var lateOrders = []string{"forward", "greedy:3"}

// TestHopperZoo: each bug with an asynchronous instruction is reported with kernel and line; its fixed twin,
// and a fence in every right place, are silent.
func TestHopperZoo(t *testing.T) {
	t.Parallel()
	program := newWatched(t).buildWithKernels(t, "hopper_zoo.cu")
	bugsAreReported(t, program, "hopper_zoo.cu", hopperBugs)
	for _, name := range []string{"writer_fences", "issuer_fences", "path_fences", "expect_late"} {
		hopperIsRight(t, program, name)
	}
}

// TestMulticastZoo: the same for what blocks of a cluster do to each other.
func TestMulticastZoo(t *testing.T) {
	t.Parallel()
	program := newWatched(t).buildWithKernels(t, "multicast_zoo.cu")
	bugsAreReported(t, program, "multicast_zoo.cu", multicastBugs)
}

// TestBulkZoo: the same for contiguous bytes that the copy engine copies or adds to sums.
func TestBulkZoo(t *testing.T) {
	t.Parallel()
	program := newWatched(t).buildWithKernels(t, "bulk_zoo.cu")
	bugsAreReported(t, program, "bulk_zoo.cu", bulkBugs)
}

// ordersOf selects the orders for a program: the fast tier takes the first.
func ordersOf(t *testing.T, program string, orders []string) []string {
	t.Helper()
	var chosen []string
	for _, order := range orders {
		if need.Chosen(t, program+" "+order, program, slices.Concat(need.Emulator, testPrograms)...) {
			chosen = append(chosen, order)
		}
	}
	return chosen
}

// testPrograms lists the programs of the emulator's own tests.
var testPrograms = []string{"cuda/testdata/emulator", "cuda/include"}

// bugsAreReported checks each bug and its twin in every order; the fast tier runs them in one.
func bugsAreReported(t *testing.T, program, file string, bugs []hopperBug) {
	t.Helper()
	pc := regexp.MustCompile(`addr2line -e (\S+) (0x[0-9a-f]+)`)
	for _, bug := range bugs {
		where := fmt.Sprintf("%s:%d", file, bugLine(t, file, bug.name))
		for _, order := range ordersOf(t, bug.name, bug.orders) {
			out, status := runEmulated(t, order, program, bug.name, "buggy")
			if at := pc.FindStringSubmatch(out); at != nil {
				out += addressLine(t, at[1], at[2])
			}
			if status != 3 || !strings.Contains(out, bug.text) || !strings.Contains(out, where) {
				t.Errorf("%s, %s: status %d, want 3, %q and %s in\n%s",
					bug.name, order, status, bug.text, where, out)
			}
		}
		hopperIsRight(t, program, bug.name, "fixed")
	}
}

func hopperIsRight(t *testing.T, program string, words ...string) {
	t.Helper()
	sum := ""
	for _, order := range ordersOf(t, strings.Join(words, " "), allOrders) {
		out, status := runEmulated(t, order, program, words...)
		if status != 0 || !strings.HasPrefix(out, "sum=") {
			t.Errorf("%v, %s: status %d, output\n%s", words, order, status, out)
			return
		}
		if sum != "" && out != sum {
			t.Errorf("%v gives %q in order %s, %q before", words, out, order, sum)
		}
		sum = out
	}
}
