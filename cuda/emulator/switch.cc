// The context switch: callee-saved registers on the stack, stack pointers exchanged. It ends with `ret`: all fibers suspend at few call sites,
// which a processor predicts; an indirect jump costs 7 ns more. Floating-point control words are not switched: kernels do not change them.
#include "cuemu/scheduler.h"

// CUEMU_UCONTEXT asks for the portable switch where there is a better one, for tests.
#if defined(__x86_64__) && !defined(CUEMU_UCONTEXT)
asm(R"(
	.text
	.globl cuemu_switch
	.hidden cuemu_switch
	.type cuemu_switch, @function
cuemu_switch:
	endbr64
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size cuemu_switch, .-cuemu_switch
	.globl cuemu_jump
	.hidden cuemu_jump
	.type cuemu_jump, @function
cuemu_jump:
	endbr64
	movq %rdi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size cuemu_jump, .-cuemu_jump
)");

namespace cuemu {
// The frame that a first switch pops: six registers, the entry, and a null return address that ends a backtrace.
CUEMU_PLAIN void *new_stack(char *top, void (*entry)()) {
	void **frame = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15)) - 8;
	for (int i = 0; i < 6; i++) frame[i] = nullptr;
	frame[6] = reinterpret_cast<void *>(entry);
	frame[7] = nullptr;
	return frame;
}
}  // namespace cuemu

#elif defined(__aarch64__) && !defined(CUEMU_UCONTEXT)
asm(R"(
	.text
	.globl cuemu_switch
	.hidden cuemu_switch
	.type cuemu_switch, %function
cuemu_switch:
	stp x29, x30, [sp, #-160]!
	stp x19, x20, [sp, #16]
	stp x21, x22, [sp, #32]
	stp x23, x24, [sp, #48]
	stp x25, x26, [sp, #64]
	stp x27, x28, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mov x9, sp
	str x9, [x0]
	mov x0, x1
	b cuemu_jump
	.size cuemu_switch, .-cuemu_switch
	.globl cuemu_jump
	.hidden cuemu_jump
	.type cuemu_jump, %function
cuemu_jump:
	mov sp, x0
	ldp x19, x20, [sp, #16]
	ldp x21, x22, [sp, #32]
	ldp x23, x24, [sp, #48]
	ldp x25, x26, [sp, #64]
	ldp x27, x28, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	ldp x29, x30, [sp], #160
	ret
	.size cuemu_jump, .-cuemu_jump
)");

namespace cuemu {
CUEMU_PLAIN void *new_stack(char *top, void (*entry)()) {
	void **frame = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15)) - 20;
	for (int i = 0; i < 20; i++) frame[i] = nullptr;
	frame[1] = reinterpret_cast<void *>(entry);   // x30
	return frame;
}
}  // namespace cuemu

#else
// Other processors: ucontext, twenty times slower, because it saves the signal mask by a system call. A saved context lies on the stack it describes.
#include <ucontext.h>

extern "C" void cuemu_switch(void **save, void *load) {
	ucontext_t here;
	*save = &here;
	swapcontext(&here, static_cast<ucontext_t *>(load));
}

extern "C" void cuemu_jump(void *load) {
	setcontext(static_cast<ucontext_t *>(load));
	__builtin_unreachable();
}

namespace cuemu {
CUEMU_PLAIN void *new_stack(char *top, void (*entry)()) {
	ucontext_t *context = reinterpret_cast<ucontext_t *>((reinterpret_cast<uintptr_t>(top) - sizeof(ucontext_t)) & ~uintptr_t(63));
	getcontext(context);
	context->uc_link = nullptr;
	context->uc_stack.ss_sp = reinterpret_cast<char *>(context) - 32 * 1024;
	context->uc_stack.ss_size = 32 * 1024;
	makecontext(context, entry, 0);
	return context;
}
}  // namespace cuemu
#endif
