package cudaerror

import (
	"slices"
	"testing"
)

// Every number is in one class at most, and the classes are those of NVIDIA's documentation of cudaError_t.
func TestClasses(t *testing.T) {
	var refused, sticky []int
	for code := range 1001 {
		if Refused(code) {
			refused = append(refused, code)
		}
		if Sticky(code) {
			sticky = append(sticky, code)
		}
	}
	if want := []int{1, 9, 701}; !slices.Equal(refused, want) {
		t.Errorf("refused launches %v, want %v", refused, want)
	}
	want := []int{214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999}
	if !slices.Equal(sticky, want) {
		t.Errorf("sticky errors %v, want %v", sticky, want)
	}
}
