package match

import (
	"testing"

	"triad/internal/ownfile/cfacts"
)

// The short names of gradients are dy, dout and doutput.
func TestShortNamesOfGradients(t *testing.T) {
	for name, want := range map[string]bool{
		"dy": true, "dOut": true, "doutput": true, "grad_y": true, "d": false, "d1": false, "data": false,
		"do_": false,
	} {
		if got := isGradient(cfacts.Param{Name: name, Pointer: true}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// An autograd function has both passes, whatever its name has in common with that of a gradient.
func TestNamesOfBackwards(t *testing.T) {
	for name, want := range map[string]bool{
		"softmax_backward": true, "bwd_kernel": true, "gradInput": true, "RMSNormAutogradFunc": false,
		"autograd_backward": true, "forward": false,
	} {
		if got := IsBackward(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
