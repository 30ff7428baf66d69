package confine

import (
	"reflect"
	"testing"
)

// TestCompilersOf: a sandbox shows the compilers that the environment names, with their libraries, and not
// the home that one may lie in.
func TestCompilersOf(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	env := []string{
		"CC=/opt/gcc/bin/gcc -m64", "CXX=/home/me/bin/g++", "CUDA_HOME=/opt/cuda", "CC=gcc", "CC=",
		"CXX=/bin/g++", "PATH=/opt/other/bin", "CUDA_PATH=/home/me/", "CUDA_PATH=/",
	}
	want := []string{"/opt/gcc", "/home/me/bin/g++", "/opt/cuda", "/bin/g++"}
	if got := compilersOf(env); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
