package cuda

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// productModel is a program of testdata/emulator around an operator's products for Hopper, compiled for the
// emulator under the models of wgmma and of the copy engine.
type productModel struct {
	operator, program string
	part              string   // a file of the operator's parts, of which "right" changes nothing
	inputs            []string // of need.Covers, further than those of every model; nil: all of the operator
	flags             []string // of the compiler
	oneOrder          bool     // the fast tier runs the right program in one order
}

// plantedInProduct is a bug: in which part, and what stands there instead; flags of the compiler with spaces
// between them.
type plantedInProduct struct{ name, part, from, to, flags string }

// build compiles the program with one edit of a part, "" for none.
func (m productModel) build(t *testing.T, part, from, to string, flags ...string) string {
	t.Helper()
	folder := editedKernels(t, m.operator, part, from, to)
	return newWatched(t, hopperFlags(folder, slices.Concat(m.flags, flags))...).build(t, m.program)
}

// check: the products are right in every order, and each planted bug is found.
func (m productModel) check(t *testing.T, bugs []plantedInProduct) {
	t.Helper()
	if m.inputs == nil {
		m.inputs = need.Kernels
	}
	_, test, _, _ := runtime.Caller(1)
	m.inputs = slices.Concat(need.Emulator, need.Operator(m.operator), m.inputs,
		[]string{"cuda/" + filepath.Base(test), "cuda/testdata/emulator/" + m.program})
	t.Run("right", func(t *testing.T) {
		need.Covers(t, "right", m.inputs...)
		program := m.build(t, m.part, "", "")
		orders := []string{"forward", "greedy:1", "reverse", "random:7"}
		if m.oneOrder {
			orders = ordersOf(t, m.operator, orders)
		}
		for _, order := range orders {
			if out, status := runEmulated(t, order, program); status != 0 || out != "ok\n" {
				t.Errorf("in order %s: status %d\n%s", order, status, out)
			}
		}
	})
	for _, planted := range bugs {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, "a planted bug", m.inputs...)
			program := m.build(t, planted.part, planted.from, planted.to, strings.Fields(planted.flags)...)
			if out, status := runEmulated(t, "forward", program); status == 0 {
				t.Errorf("not found:\n%s", out)
			}
		})
	}
}
