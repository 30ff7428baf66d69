package rewrite

import "strings"

// ptxInstructions lists the emulator's instructions other than loads and stores: for each, a header of
// cuda/emulator/cuemu (ptx.h and the like) has a function of the name, with underscores for dots.
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
	prefetch.global.L1 prefetch.global.L2 prefetchu.L1 cvta.to.global.u64
	cvta.to.shared.u64 cvt.u32.u64 mov.u32 mov.b32 mov.u64 mov.b64 setp.ne.b32 setp.ne.u32 setp.ne.s32
	bfe.u32 bfe.s32 bfi.b32 bar.sync barrier.sync membar.gl membar.cta membar.sys fence.acq_rel.gpu
	ex2.approx.f32 ex2.approx.ftz.f32 lg2.approx.f32 lg2.approx.ftz.f32 rcp.approx.f32 rcp.approx.ftz.f32
	rsqrt.approx.f32 rsqrt.approx.ftz.f32 sqrt.approx.f32 sqrt.approx.ftz.f32 tanh.approx.f32
	sin.approx.f32 cos.approx.f32
	add.s32 add.u32 add.s64 add.u64 sub.s32 sub.u32 sub.s64 sub.u64
	mul.lo.s32 mul.lo.u32 mul.lo.s64 mul.lo.u64 mad.lo.s32 mad.lo.u32 mad.lo.s64 mad.lo.u64
	div.s32 div.u32 div.s64 div.u64 rem.s32 rem.u32 rem.s64 rem.u64
	min.s32 min.u32 min.s64 min.u64 max.s32 max.u32 max.s64 max.u64
	mul.wide.s32 mul.wide.u32 mul.hi.s32 mul.hi.u32 abs.s32 neg.s32
	and.b32 or.b32 xor.b32 not.b32 shl.b32 shr.b32 shr.u32 shr.s32 popc.b32 clz.b32 lop3.b32
	and.b64 or.b64 xor.b64 not.b64 shl.b64 shr.b64 shr.u64 shr.s64 popc.b64 clz.b64
	add.f32 add.rn.f32 sub.f32 sub.rn.f32 mul.f32 mul.rn.f32 div.rn.f32 fma.rn.f32 sqrt.rn.f32 rcp.rn.f32
	add.f64 add.rn.f64 sub.f64 sub.rn.f64 mul.f64 mul.rn.f64 div.rn.f64 fma.rn.f64 sqrt.rn.f64 rcp.rn.f64
	min.f32 max.f32 abs.f32 neg.f32 min.f64 max.f64 abs.f64 neg.f64 mov.f32 mov.f64 mov.s32 mov.s64
	cvt.rn.f32.s32 cvt.rn.f32.u32 cvt.f64.f32 cvt.rn.f32.f64 cvt.s64.s32 cvt.u64.u32
	setp.lt.s32 setp.le.s32 setp.gt.s32 setp.ge.s32 setp.eq.s32
	setp.lt.u32 setp.le.u32 setp.gt.u32 setp.ge.u32 setp.eq.u32
	setp.lt.f32 setp.le.f32 setp.gt.f32 setp.ge.f32 setp.eq.f32 setp.eq.b32
	selp.b32 selp.s32 selp.u32 selp.f32
	shfl.sync.bfly.b32 shfl.sync.down.b32 shfl.sync.up.b32 shfl.sync.idx.b32
`)

func wordSet(text string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		all[word] = true
	}
	return all
}
