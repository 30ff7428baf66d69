package main

import (
	"strings"
	"testing"

	"triad/internal/need"
)

// TestSmallSharedMemory: on a GPU whose blocks may have 99 KB of shared memory (sm_86, sm_89, sm_120) the
// kernels that keep rows there keep fewer, or leave them to others; on one with 64 KB (sm_75) even fewer.
func TestSmallSharedMemory(t *testing.T) {
	for _, bytes := range []string{"101376", "65536"} {
		for _, args := range [][]string{
			{
				"compare", "layernorm", "--pass", "backward", "--impl", "cuda/partials", "--dims",
				"rows=9,cols=1000",
			},
			{
				"compare", "layernorm", "--pass", "backward", "--impl", "cuda/partials", "--dims",
				"rows=3,cols=9000",
			},
			{"compare", "softmax", "--impl", "cuda/vec", "--dims", "rows=9,cols=65536"},
			{
				"compare", "flash_attention", "--impl", "cuda/tiled", "--dims",
				"batch=1,heads_q=1,heads_kv=1,seq_q=70,seq_kv=70,head_dim=256",
			},
		} {
			t.Run(bytes+" "+strings.Join(args[1:], " "), func(t *testing.T) {
				need.Covers(t, args[1], append(need.Emulator, need.Operator(args[1])...)...)
				t.Setenv("CUEMU_SHARED_BYTES", bytes)
				if text, code := runTriad(t, append(args, "--distribution", "normal", "--layout",
					"contiguous")...); code != 0 {
					t.Errorf("exit %d\n%s", code, text)
				}
			})
		}
	}
}

// TestOldGPU: a variant that a GPU cannot run says which compute capability it needs, and which one the GPU
// has.
func TestOldGPU(t *testing.T) {
	t.Setenv("CUEMU_CAPABILITY", "75")
	text, code := runTriad(t, "compare", "flash_attention", "--impl", "cuda/sm80_mma", "--dtype", "bf16",
		"--dims", "batch=1,heads_q=1,heads_kv=1,seq_q=16,seq_kv=16,head_dim=64", "--distribution", "normal",
		"--layout", "contiguous")
	if want := "needs a GPU of compute capability 8.0 or newer, this one has 7.5"; code != 3 ||
		!strings.Contains(text, want) {
		t.Errorf("exit %d, want 3 and %q\n%s", code, want, text)
	}
}
