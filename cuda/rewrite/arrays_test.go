package rewrite

import "testing"

// TestOnDevice: arrays of variable size are refused only where a line belongs to the device.
func TestOnDevice(t *testing.T) {
	const text = `__host__ __device__ int both(int n) { return n; }
static int hosts(int n) {
	return n;
}
template <class T>
__device__ T twice(T x)
{
	return 2 * x;
}
__global__ void k(int *y) {
	y[0] = twice(1);
}
#ifdef OTHER
__global__ void other(int *y) { y[0] = 1; }
#endif
int main() { k<<<1, 1>>>(nullptr); }
`
	for line, want := range map[int]string{1: "both", 3: "", 8: "twice", 11: "k", 14: "", 16: "", 99: ""} {
		if got := OnDevice([]byte(text), line); got != want {
			t.Errorf("line %d is in %q, want %q", line, got, want)
		}
	}
}
