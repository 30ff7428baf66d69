package cfacts

import "testing"

// Elements that are read and written several at once, through the address of the first, count as read and
// written.
func TestWritesOfWiderElements(t *testing.T) {
	const at = "reinterpret_cast<float4 *>(&c[row * n + i])[0]"
	for lines, want := range map[string]Writing{
		"float4 old = " + at + "; old.x += 1; " + at + " = old;": {Plain: true, Reread: true},
		at + " = sums; float4 now = " + at + ";":                 {Plain: true},
		"float4 old = " + at + ";":                               {Reread: true},
		"f(reinterpret_cast<float4 *>(&c[i]));":                  {},
		"FLOAT4(c[i]) = sums;":                                   {Plain: true},
		"float4 now = FLOAT4(c[i]);":                             {Reread: true},
		"if (f(c[i]) == 1) return;":                              {Reread: true},
	} {
		file := ReadCUDA("__global__ void k(float *c, int n) { " + lines + " }")
		if got := file.Functions[0].Params[0].Writing; got != want {
			t.Errorf("%s: %+v, want %+v", lines, got, want)
		}
	}
}
