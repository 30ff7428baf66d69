#define WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))
#define LOAD(a, b, at)                                                    \
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" \
	             : "=r"(a), "=r"(b)                                         \
	             : "r"(at))

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " // the largest shape
	             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	WAIT(1);
}

__device__ unsigned address(const void *p) {
	unsigned at;
	asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(at) : "l"(p));
	return at;
}

__device__ void copy(unsigned to, const void *from, bool valid) {
	asm volatile("{\n"
	             "  .reg .pred p;\n"
	             "  setp.ne.b32 p, %[valid], 0;\n"
	             "  @p cp.async.cg.shared.global.L2::128B [%0], [%1 + 16], 16;\n"
	             "}\n" ::"r"(to), "l"(from), [valid] "r"((int)valid));
	__asm__ __volatile__("cp.async.commit_group;" ::);
}

__device__ unsigned lane() {
	unsigned l;
	asm volatile("mov.u32 %0, %%laneid;" : "=r"(l));
	asm volatile("" ::: "memory");
	asm volatile("vote.sync.any.pred %0, %1, 0xffffffff;" : "=r"(l) : "r"(l));
	return l;
}

void memory(float *x, unsigned at, float4 v, int low) {
	asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4 + 16];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x));
	asm volatile("st.shared::cta.v2.b32 [%0], {%1, %2};" ::"r"(at), "f"(v.x), "f"(v.y));
	asm volatile("ld.volatile.global.s8 %0, [%1];" : "=r"(low) : "l"(x));
	asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];" : "=r"(low), "=r"(low) : "r"(at));
	asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(low) : "l"(x));   // noted
}
