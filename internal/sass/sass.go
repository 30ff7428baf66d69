// Package sass reads the output of NVIDIA's disassembler for a kernel: loops, the roles of their
// instructions, and how long the pipes of a Hopper SM need for them. It knows no operator and runs nothing.
package sass

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Instruction is one line: its offset in bytes from the kernel's start, its name with all suffixes, and its
// operands.
type Instruction struct {
	Address  int
	Opcode   string
	Operands string
}

// Kernel is a function of a listing, by its mangled name.
type Kernel struct {
	Name         string
	Instructions []Instruction
}

var (
	function    = regexp.MustCompile(`^\s*Function : (\S+)`)
	instruction = regexp.MustCompile(`^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?\s*([A-Z][\w.]*)\s*([^;]*);`)
	target      = regexp.MustCompile(`0x([0-9a-f]+)\s*$`)
)

// Parse reads the listing of "cuobjdump -sass". A listing without a kernel is an error.
func Parse(listing io.Reader) ([]Kernel, error) {
	var kernels []Kernel
	lines := bufio.NewScanner(listing)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := function.FindStringSubmatch(lines.Text()); m != nil {
			kernels = append(kernels, Kernel{Name: m[1]})
			continue
		}
		m := instruction.FindStringSubmatch(lines.Text())
		if m == nil || len(kernels) == 0 {
			continue
		}
		address, err := strconv.ParseInt(m[1], 16, 32)
		if err != nil {
			return nil, fmt.Errorf("read the address of %q: %w", lines.Text(), err)
		}
		k := &kernels[len(kernels)-1]
		k.Instructions = append(k.Instructions, Instruction{int(address), m[2], strings.TrimSpace(m[3])})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read a listing: %w", err)
	}
	if len(kernels) == 0 {
		return nil, fmt.Errorf("read a listing: it names no function")
	}
	return kernels, nil
}

// CodeBytes returns the size of the kernel's code: an instruction has 16 bytes.
func (k Kernel) CodeBytes() int { return 16 * len(k.Instructions) }

// Loop holds the instructions from a branch's target to the branch that goes back to it.
type Loop struct {
	First, Last  int // addresses
	Instructions []Instruction
}

// smallestLoop is the length in instructions from which a loop is reported: shorter ones wait for a barrier.
const smallestLoop = 16

// Loops returns the innermost loops of a kernel, those that contain no other, in the order of their
// addresses.
func (k Kernel) Loops() []Loop {
	var all []Loop
	for i, in := range k.Instructions {
		m := target.FindStringSubmatch(in.Operands)
		if !strings.HasPrefix(in.Opcode, "BRA") || m == nil {
			continue
		}
		first, err := strconv.ParseInt(m[1], 16, 32)
		if err != nil || int(first) >= in.Address {
			continue
		}
		start := i - (in.Address-int(first))/16
		if start < 0 || k.Instructions[start].Address != int(first) || i-start+1 < smallestLoop {
			continue
		}
		all = append(all, Loop{int(first), in.Address, k.Instructions[start : i+1]})
	}
	var inner []Loop
	for i, l := range all {
		contains := false
		for j, other := range all {
			contains = contains || i != j && l.First <= other.First && other.Last <= l.Last
		}
		if !contains {
			inner = append(inner, l)
		}
	}
	return inner
}

// Role is the purpose of an instruction.
type Role int

// The roles, in the order of the columns of a report.
const (
	Tensor  Role = iota // products on tensor cores
	Exp                 // MUFU: exponentials, reciprocals, roots
	Float               // ordinary arithmetic in fp32 and fp16
	Copy                // loads, stores, the copy engine
	Barrier             // barriers, fences, waits
	Address             // integers, moves, predicates
	Branch
	Spill // local memory
	roles
)

var roleNames = [roles]string{"tensor", "exp", "float", "copy", "barrier", "address", "branch", "spill"}

func (r Role) String() string { return roleNames[r] }

// Roles lists all roles.
func Roles() []Role {
	all := make([]Role, roles)
	for i := range all {
		all[i] = Role(i)
	}
	return all
}

// rolePrefixes maps names of instructions, without suffixes, to roles; all others are Address.
var rolePrefixes = map[string]Role{}

func init() {
	for role, names := range map[Role]string{
		Tensor: "HGMMA QGMMA IGMMA BGMMA HMMA IMMA DMMA",
		Exp:    "MUFU",
		Float: "FFMA FADD FMUL FMNMX FSETP FSEL FSET FCHK F2F F2FP HADD2 HMUL2 HFMA2 HMNMX2 HSETP2 HSET2 " +
			"DADD DMUL DFMA DSETP I2F I2FP F2I FRND FADD32I FMUL32I FFMA32I FSWZADD",
		Copy: "LDG STG LDS STS LDSM STSM LD ST LDGSTS UTMALDG UTMASTG UTMAREDG UBLKCP UBLKRED UTMAPF RED " +
			"ATOM ATOMG ATOMS REDAS STAS CCTL UTMACCTL",
		Barrier: "BAR SYNCS WARPGROUP WARPSYNC MEMBAR FENCE DEPBAR LDGDEPBAR UCGABAR_ARV UCGABAR_WAIT " +
			"ERRBAR BSYNC BSSY NANOSLEEP UTMACMDFLUSH ARRIVES USETMAXREG YIELD",
		Branch: "BRA BRX CALL RET EXIT JMP BREAK",
		Spill:  "LDL STL",
	} {
		for name := range strings.FieldsSeq(names) {
			rolePrefixes[name] = role
		}
	}
}

func (i Instruction) name() string {
	name, _, _ := strings.Cut(i.Opcode, ".")
	return name
}

// Role returns the purpose of the instruction.
func (i Instruction) Role() Role {
	if role, known := rolePrefixes[i.name()]; known {
		return role
	}
	return Address
}

// Count counts the loop's instructions by role.
func (l Loop) Count() [roles]int {
	var n [roles]int
	for _, in := range l.Instructions {
		n[in.Role()]++
	}
	return n
}

// Has reports whether the loop holds an instruction of this name, its suffixes apart.
func (l Loop) Has(name string) bool { return holds(l.Instructions, name) }

// Has reports whether the kernel holds an instruction of this name, its suffixes apart.
func (k Kernel) Has(name string) bool { return holds(k.Instructions, name) }

func holds(all []Instruction, name string) bool {
	return slices.ContainsFunc(all, func(in Instruction) bool { return in.name() == name })
}
