package kernelfile

import (
	"fmt"
	"slices"
)

// takeHostArrays finds the tensors that a function takes as pointers to host memory, to read and write.
func (b *Binding) takeHostArrays() {
	if b.extension || b.each {
		return
	}
	names := b.file.HostArrays(b.Function)
	for i := range b.Args {
		a := &b.Args[i]
		tensor := a.Role == Input || a.Role == Output
		if tensor && a.Pointer && !a.TorchTensor && slices.Contains(names, a.Name) {
			a.host = true
		}
	}
}

// hostName returns the variable of the shim that points to the host's copy of the argument at a place.
func hostName(at int) string { return fmt.Sprintf("triad_own_host_%d", at) }

// hostBefore gives a function of host arrays copies of its inputs, and of its outputs as they are.
func (b *Binding) hostBefore(args []Argument) string {
	code := ""
	for i, a := range args {
		if a.host {
			code += fmt.Sprintf("\tvoid *%[1]s = triad_own::to_host(%[2]s, %[3]s);\n"+
				"\tif (%[1]s == nullptr) return 2;\n", hostName(i), b.placeCode("void", a, i), b.roomCode(a))
		}
	}
	return code
}

// hostAfter copies back what the function wrote.
func (b *Binding) hostAfter(args []Argument) string {
	code := ""
	for i, a := range args {
		if a.host {
			code += checked(fmt.Sprintf("triad_own::from_host(%s, %s, %s, %t)", hostName(i),
				b.placeCode("void", a, i), b.roomCode(a), a.Role == Output))
		}
	}
	return code
}
