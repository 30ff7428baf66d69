package main

import "testing"

// On a GPU whose blocks may have 99 KB of shared memory (sm_86, sm_89) the kernels that keep rows there keep less of them, or leave it to others.
func TestSmallSharedMemory(t *testing.T) {
	t.Setenv("CUEMU_SHARED_BYTES", "101376")
	for _, args := range [][]string{
		{"compare", "layernorm", "--pass", "backward", "--impl", "cuda/partials", "--dims", "rows=9,cols=1000"},
		{"compare", "layernorm", "--pass", "backward", "--impl", "cuda/partials", "--dims", "rows=3,cols=9000"},
		{"compare", "softmax", "--impl", "cuda/vec", "--dims", "rows=9,cols=65536"},
	} {
		if text, code := runTriad(t, append(args, "--distribution", "normal", "--layout", "contiguous")...); code != 0 {
			t.Errorf("%v: exit %d\n%s", args, code, text)
		}
	}
}
