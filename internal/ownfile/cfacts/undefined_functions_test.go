package cfacts

import (
	"strings"
	"testing"
)

// A function that is declared, called and not defined is in another file.
func TestUndefined(t *testing.T) {
	file := ReadCUDA(`void helper(float *x, int n);
__global__ void kernel(float *x);
void unused(int n);
template <typename T> void made(T *x);
int a = wrong(3);
void own(float *x) { kernel<<<1, 1>>>(x); helper(x, 1); made<float>(x); }
void made_here(float *x);
void made_here(float *x) { own(x); }
void call(float *x) { made_here(x); }
`)
	if got := strings.Join(file.Undefined(), " "); got != "helper kernel made" {
		t.Errorf("undefined: %s", got)
	}
}
