package cuda

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// The emulator on a 64-bit Arm processor under qemu: switches of fibers, barriers and warp functions in every
// order, and reports with their lines.
func TestEmulatorOnAArch64(t *testing.T) {
	need.Covers(t, "", slices.Concat(need.Emulator, testPrograms)...)
	t.Parallel()
	qemu := need.Tool(t, "qemu-aarch64")
	e := newEmulated(t, "aarch64-linux-gnu-g++", "-O1")
	onArm := func(order, program string, args ...string) (string, int) {
		args = append([]string{"-L", "/usr/aarch64-linux-gnu", program}, args...)
		return runEmulated(t, order, qemu, args...)
	}
	warp := e.build(t, "warp.cu")
	said := map[string]bool{}
	for _, order := range []string{"forward", "random:1", "greedy:1"} {
		out, status := onArm(order, warp, "small")
		if status != 0 || !strings.HasPrefix(out, "ok ") {
			t.Errorf("order %s: status %d\n%s", order, status, out)
		}
		said[out] = true
	}
	if len(said) != 1 {
		t.Errorf("the number of checks depends on the order: %v", said)
	}
	zoo := e.build(t, "zoo.cu")
	for name, text := range map[string]string{
		"divergent_barrier": "different barriers", "deadlock": "still missing lanes ffff0000",
		"missing_if": "past the end of buffer",
	} {
		out, status := onArm("forward", zoo, name, "buggy")
		if status != 3 || !strings.Contains(out, text) {
			t.Errorf("%s: status %d, want 3 and %q in\n%s", name, status, text, out)
		}
		where := fmt.Sprintf("zoo.cu:%d", bugLine(t, "zoo.cu", name))
		if name != "missing_if" && !strings.Contains(out, where) {
			t.Errorf("%s: no %s in\n%s", name, where, out)
		}
		if out, status := onArm("forward", zoo, name, "fixed"); status != 0 ||
			!regexp.MustCompile(` nans=0\n$`).MatchString(out) {
			t.Errorf("%s fixed: status %d\n%s", name, status, out)
		}
	}
}
