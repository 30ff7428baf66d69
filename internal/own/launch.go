package own

// Launch is how a lone kernel is started: expressions over the dims, three for a grid and a block.
type Launch struct {
	Grid, Block [3]string
	Shared      string // bytes
	Proposed    bool   // nobody asked for it
	Why         string
}

func (l *Launch) uses(dim string) bool { return false }

func (b *Binding) propose(file *File) error { return b.errorf("lone kernels") }

func (l *Launch) String() string { return "" }
