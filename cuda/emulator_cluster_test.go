package cuda

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// clusterReports lists how each bug of cluster.cu must be reported, in every order or in the named ones.
var clusterReports = []struct {
	name, text string
	orders     []string
	line       bool // the report, or the fault's address, names the line
}{
	{"no_start", "of the cluster, which has not started", allOrders, true},
	{"no_end", "of the cluster, which has ended", allOrders, true},
	{"twice", "arrives at the barrier of the cluster twice", allOrders, true},
	{"not_arrived", "waits at the barrier of the cluster and has not arrived", allOrders, true},
	{"stuck", "no thread of the cluster can run", allOrders, true},
	{"wrong_rank", "block 2 of a cluster of 2", allOrders, true},
	{"not_shared", "not in this block's shared memory", allOrders, true},
}

// TestEmulatorClusters: blocks of a cluster access each other's shared memory and share a barrier, with the
// same bits in all orders; violations are reported with their line, and a missing wait shows in the bits.
func TestEmulatorClusters(t *testing.T) {
	t.Parallel()
	program := newEmulated(t, "g++", "-O2").build(t, "cluster.cu")
	t.Run("right", func(t *testing.T) { clustersAreRight(t, program) })
	t.Run("reports", func(t *testing.T) { clusterBugsAreReported(t, program) })
	t.Run("launch", func(t *testing.T) {
		want := "5,1: cudaErrorInvalidConfiguration\n2,2: cudaErrorInvalidConfiguration\n12,1: " +
			"cudaErrorInvalidClusterSize\n" +
			"1,0: cudaErrorInvalidClusterSize\n12: cudaSuccess\nother: cudaErrorNotSupported\n"
		if out, status := runEmulated(t, "forward", program, "launch"); status != 0 || out != want {
			t.Errorf("status %d, want\n%s, got\n%s", status, want, out)
		}
	})
}

// clusterOrders lists all orders, first the one in which blocks of a cluster alternate least regularly.
var clusterOrders = []string{"random:1", "forward", "reverse", "greedy:1", "greedy:2", "greedy:3"}

func clustersAreRight(t *testing.T, program string) {
	fixed := map[string]string{}
	for _, name := range []string{
		"no_start", "no_end", "one_buffer", "no_wait", "twice", "not_arrived", "stuck",
		"wrong_rank", "not_shared",
		"leavers", "relay", "alone", "cube",
	} {
		for _, order := range ordersOf(t, name+" fixed", clusterOrders) {
			out, status := runEmulated(t, order, program, name, "fixed")
			if status != 0 || !strings.HasSuffix(out, " nans=0\n") {
				t.Fatalf("%s fixed, %s: status %d, output %q", name, order, status, out)
			}
			if before, seen := fixed[name]; seen && before != out {
				t.Errorf("%s fixed gives %q in order %s, %q before", name, out, order, before)
			}
			fixed[name] = out
		}
	}
	for _, order := range allOrders {
		if out, _ := runEmulated(t, order, program, "no_wait", "buggy"); out == fixed["no_wait"] {
			t.Errorf("no_wait, %s: the bug does not show", order)
		}
	}
}

func clusterBugsAreReported(t *testing.T, program string) {
	pc := regexp.MustCompile(`addr2line -e (\S+) (0x[0-9a-f]+)`)
	for _, bug := range clusterReports {
		where := fmt.Sprintf("cluster.cu:%d", bugLine(t, "cluster.cu", bug.name))
		for _, order := range ordersOf(t, bug.name+" buggy", bug.orders) {
			out, status := runEmulated(t, order, program, bug.name, "buggy")
			if status != 3 || !strings.Contains(out, bug.text) {
				t.Errorf("%s, %s: status %d, want 3 and %q in\n%s", bug.name, order, status, bug.text, out)
				continue
			}
			if at := pc.FindStringSubmatch(out); at != nil {
				out += addressLine(t, at[1], at[2])
			}
			if bug.line && !strings.Contains(out, where) {
				t.Errorf("%s, %s: no %s in\n%s", bug.name, order, where, out)
			}
		}
	}
}

// TestEmulatorClustersSanitized: ThreadSanitizer knows no order between blocks but the barrier's, and
// AddressSanitizer which fiber runs. Each needs an emulator of its own: the fast tier has neither.
func TestEmulatorClustersSanitized(t *testing.T) {
	t.Parallel()
	right := []string{"no_start", "no_end", "one_buffer", "no_wait", "leavers", "alone", "cube"}
	for sanitizer, flag := range map[string]string{"thread": "thread", "address": "address,undefined"} {
		t.Run(sanitizer, func(t *testing.T) {
			need.Covers(t, "", slices.Concat(need.Emulator, testPrograms)...)
			program := newEmulated(t, "g++", "-O1", "-fsanitize="+flag).build(t, "cluster.cu")
			for _, name := range right {
				if out, status := runEmulated(t, "greedy:1", program, name, "fixed"); status != 0 ||
					strings.Count(out, "\n") != 1 {
					t.Errorf("%s fixed: status %d, output\n%s", name, status, out)
				}
			}
			if sanitizer != "thread" {
				return
			}
			for _, name := range []string{"no_wait", "one_buffer"} {
				out, status := runEmulated(t, "forward", program, name, "buggy")
				line := fmt.Sprintf("cluster.cu:%d", bugLine(t, "cluster.cu", name))
				if status == 0 || !strings.Contains(out, "ThreadSanitizer: data race") ||
					!strings.Contains(out, line) {
					t.Errorf("%s: status %d, want a data race at %s in\n%s", name, status, line, out)
				}
			}
		})
	}
}
