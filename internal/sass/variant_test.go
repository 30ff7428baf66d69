package sass

import (
	"slices"
	"strings"
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

// TestWanted: the kernels of one dtype and pass are chosen by their names; one that names none serves all.
func TestWanted(t *testing.T) {
	var all []backend.KernelFact
	for _, name := range []string{
		"_ZN12_GLOBAL__N_118softmax_fwd_warp_kIfLi4EEEvPKT_PS1_i",
		"_ZN12_GLOBAL__N_118softmax_fwd_warp_kI6__halfLi4EEEvPKT_PS2_i",
		"_ZN12_GLOBAL__N_118softmax_bwd_warp_kI13__nv_bfloat16Li4EEEvPKT_PS2_i",
		"_ZN5triad14online_of_warpEi",
	} {
		all = append(all, backend.KernelFact{Kernel: name, Arch: HopperCode})
	}
	for _, c := range []struct {
		wanted Wanted
		want   []string
	}{
		{
			Wanted{Variant: "warp", Pass: "both"}, []string{
				"softmax_fwd_warp_k<float, 4>", "softmax_fwd_warp_k<__half, 4>",
				"softmax_bwd_warp_k<__nv_bfloat16, 4>", "online_of_warp",
			},
		},
		{
			Wanted{Variant: "warp", DTypes: []string{"fp16"}, Pass: "both"},
			[]string{"softmax_fwd_warp_k<__half, 4>", "online_of_warp"},
		},
		{
			Wanted{Variant: "warp", Pass: "backward"},
			[]string{"softmax_bwd_warp_k<__nv_bfloat16, 4>", "online_of_warp"},
		},
	} {
		chosen, err := c.wanted.Choose(all)
		var names []string
		for _, k := range chosen {
			names = append(names, NameOf(k.Kernel).Text)
		}
		if err != nil || !slices.Equal(names, c.want) {
			t.Errorf("%+v: %q, want %q (%v)", c.wanted, names, c.want, err)
		}
	}
	_, err := Wanted{Variant: "warp", DTypes: []string{"e4m3"}, Pass: "forward"}.Choose(all[:3])
	if err == nil || !strings.Contains(err.Error(), "bf16 backward, fp16 forward, fp32 forward") {
		t.Errorf("of no kernel: %v", err)
	}
}
