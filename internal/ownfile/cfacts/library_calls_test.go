package cfacts

import "testing"

// A library call begins with the library's name and a capital letter.
func TestLibraryCalls(t *testing.T) {
	for name, want := range map[string]bool{
		"cublasSgemm": true, "cudnnConvolutionForward": true, "cufftExecC2C": true,
		"cublas": false, "cublas_handle": false, "cublasgemm": false, "mycublasSgemm": false,
		"cudaMalloc": false,
	} {
		if got := isLibraryCall(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
