package sass

import (
	"slices"
	"strings"
	"testing"
)

// A kernel with two loops, one in the other, in the disassembler's form.
const listing = `
		Function : _ZN5triad4demoEv
	.headerflags	@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   LDC R1, c[0x0][0x28] ;            /* 0x00000a00ff017b82 */
                                                                     /* 0x000fe20000000800 */
        /*0010*/                   UTMALDG.4D [UR4], [UR8] ;         /* 0x0 */
        /*0020*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2], R3 ;
        /*0030*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24, !UPT ;
        /*0040*/                   HGMMA.64x128x16.F32.BF16 R88, R4, gdesc[UR8], R88, gsb0 ;
        /*0050*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0060*/                   MUFU.EX2 R5, R5 ;
        /*0070*/                   MUFU.EX2 R6, R6 ;
        /*0080*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0090*/                   MUFU.EX2 R7, R7 ;
        /*00a0*/                   FMUL R8, R8, R9 ;
        /*00b0*/                   FADD R10, R10, R8 ;
        /*00c0*/                   FFMA R11, R8, R9, R11 ;
        /*00d0*/                   FMUL R12, R12, R9 ;
        /*00e0*/                   MOV R12, R9 ;
        /*00f0*/                   FADD R13, R13, R12 ;
        /*0100*/                   STL [R1], R13 ;
        /*0110*/                   IADD3 R3, R3, 0x1, RZ ;
        /*0120*/              @!P0 BRA 0x20 ;
        /*0130*/                   STG.E desc[UR4][R2.64], R13 ;
        /*0140*/               @P1 BRA 0x10 ;
        /*0150*/                   EXIT ;
        /*0160*/                   BRA 0x160;
`

// TestLoops: the innermost loop is found, its instructions are counted by role, and the pipes' clocks follow
// from the hardware's rates.
func TestLoops(t *testing.T) {
	kernels, err := Parse(strings.NewReader(listing))
	if err != nil || len(kernels) != 1 || kernels[0].Name != "_ZN5triad4demoEv" ||
		kernels[0].CodeBytes() != 16*23 {
		t.Fatalf("kernels %v, %v", kernels, err)
	}
	loops := kernels[0].Loops()
	if len(loops) != 1 || loops[0].First != 0x20 || loops[0].Last != 0x120 {
		t.Fatalf("loops %v, want one from 0x20 to 0x120", loops)
	}
	count := loops[0].Count()
	if want := []int{2, 3, 5, 0, 3, 2, 1, 1}; !slices.Equal(count[:], want) {
		t.Errorf("%v: %v, want %v", Roles(), count, want)
	}
	clocks := loops[0].Clocks()
	if want := (Clocks{Tensor: 128, Exp: 24, Float: 5, Integer: 4, Issue: 17}); clocks != want {
		t.Errorf("clocks %+v, want %+v", clocks, want)
	}
	if pipe, n := clocks.Bound(); pipe != "tensor" || n != 128 {
		t.Errorf("bound by %s, %d clocks", pipe, n)
	}
}

// TestRules: exponentials on both sides of the last wait, and a product that is added separately, but not one
// whose register was overwritten.
func TestRules(t *testing.T) {
	kernels, err := Parse(strings.NewReader(listing))
	if err != nil {
		t.Fatal(err)
	}
	loop := kernels[0].Loops()[0]
	if beside, behind := loop.ExponentialsBehindWait(); beside != 2 || behind != 1 {
		t.Errorf("%d exponentials beside a product and %d behind the wait, want 2 and 1", beside, behind)
	}
	if apart := loop.ProductsAddedApart(); apart != 1 {
		t.Errorf("%d products are added apart, want 1", apart)
	}
	var out strings.Builder
	kernels[0].Name = "_ZN12_GLOBAL__N_115relu_fwd_kernelIfEEvPKT_PS1_i"
	if err := Write(&out, []Listed{{kernels[0], 40, 8}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bound by\nrelu_fwd_kernel<float>", "  40         8 B ", "0x20..0x120", "added apart",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestNoListing: text that is no listing is an error.
func TestNoListing(t *testing.T) {
	if kernels, err := Parse(strings.NewReader("nothing\n")); err == nil {
		t.Errorf("kernels %v and no error", kernels)
	}
}
