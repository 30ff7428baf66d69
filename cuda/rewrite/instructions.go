package rewrite

import "strings"

// ptxInstructions are those that the emulator has: for each, cuda/emulator/cuemu/ptx.h has a function of the
// name, with underscores for dots.
var ptxInstructions = wordSet(`
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
	mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32
	mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32
	mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32
	ldmatrix.sync.aligned.m8n8.x1.shared.b16 ldmatrix.sync.aligned.m8n8.x2.shared.b16
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16
	ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
	cp.async.ca.shared.global cp.async.cg.shared.global cp.async.commit_group cp.async.wait_group
	cp.async.wait_all
	cvta.to.shared.u64 cvt.u32.u64 mov.u32 mov.b32 mov.u64 mov.b64 setp.ne.b32 setp.ne.u32 setp.ne.s32
	bfe.u32 bfe.s32 bfi.b32 bar.sync barrier.sync membar.gl membar.cta membar.sys fence.acq_rel.gpu
	ex2.approx.f32 ex2.approx.ftz.f32 lg2.approx.f32 lg2.approx.ftz.f32 rcp.approx.f32 rcp.approx.ftz.f32
	rsqrt.approx.f32 rsqrt.approx.ftz.f32 sqrt.approx.f32 sqrt.approx.ftz.f32 tanh.approx.f32
	sin.approx.f32 cos.approx.f32
`)

func wordSet(text string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		all[word] = true
	}
	return all
}
