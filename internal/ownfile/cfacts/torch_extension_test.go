package cfacts

import "testing"

// A pointer parameter does not make a file an extension.
func TestNoExtension(t *testing.T) {
	f := ReadCUDA("#include <cuda_runtime.h>\nvoid run(const float* x, float* y, int rows, int cols) {}\n")
	if f.TorchExtension || f.Functions[0].ReturnsTensors || f.Functions[0].ShowsSizes() {
		t.Errorf("%+v", f.Functions[0])
	}
	for text, optional := range map[string]bool{"torch Tensor": false, "std optional at Tensor": true} {
		if got, is := torchTensor(text); !is || got != optional {
			t.Errorf("%s: %v %v", text, got, is)
		}
	}
	if _, is := torchTensor("mine Tensor"); is {
		t.Error("another Tensor is taken for torch's")
	}
}
