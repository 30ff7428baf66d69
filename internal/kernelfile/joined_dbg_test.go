package kernelfile

import (
	"fmt"
	"os"
	"testing"
)

func TestDbg(t *testing.T) {
	b, _ := os.ReadFile(os.Getenv("DBG"))
	f := ReadCUDA(string(b))
	fn, ok := JoinMain(string(b), f)
	fmt.Println(ok)
	fmt.Println(fn)
	for _, l := range f.Functions {
		for _, p := range l.Params {
			fmt.Println(l.Name, p.Name, p.Const, p.writing)
		}
	}
}
