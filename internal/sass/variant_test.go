package sass

import (
	"slices"
	"testing"

	"triad/internal/backend"
)

// TestKernelsOfAVariant: a variant's kernels are those for Hopper with all words of its name in theirs,
// except the architecture; names in an unnamed namespace are read too.
func TestKernelsOfAVariant(t *testing.T) {
	const wgmma = "_ZN5triad13product_wgmmaILi4ELi4ELb0ELi1ENS_10CopyLoaderEEEvNS_7ProductET3_NS_9TileOrderEb"
	const tiled = "_ZN44_GLOBAL__N__02e4faee_11_fp8_gemm_cu_e246014513product_tiledILi4EEEvN5triad7ProductE"
	const mma = "_ZN5triad3mma11mma_forwardI6__halfLi64EEEvNS_11ForwardCallIT_EE"
	all := []backend.KernelFact{
		{Kernel: wgmma, Arch: "sm_90a"},
		{Kernel: wgmma, Arch: "sm_80"},
		{Kernel: tiled, Arch: "sm_90a"},
		{Kernel: mma, Arch: "sm_90a"},
	}
	for variant, want := range map[string]string{"sm90_wgmma": wgmma, "tiled": tiled, "sm80_mma": mma} {
		if found := KernelsOf(all, variant); len(found) != 1 || found[0].Kernel != want ||
			found[0].Arch != "sm_90a" {
			t.Errorf("%s: %v, want %s alone", variant, found, want)
		}
	}
	if found := KernelsOf(all, "splitk"); len(found) != 0 {
		t.Errorf("splitk: %v", found)
	}
	want := []string{"mma_forward", "product_tiled", "product_wgmma"}
	if names := Functions(all); !slices.Equal(names, want) {
		t.Errorf("functions %v", names)
	}
}
