package worker

import (
	"hash/crc32"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/backend/backendtest"
	"triad/internal/op"
	"triad/internal/tensor"
)

// byName is the mode of a fake worker that keeps every promise: the implementation's name is its behaviour.
const byName = "what the implementation is called"

// faked are the fake's implementations.
var faked = map[backendtest.Behaviour]string{
	backendtest.Right: "fake/works", backendtest.Declines: "fake/declines", backendtest.Silent: "fake/silent",
	backendtest.Scribbles: "fake/scribbles", backendtest.Fails: "fake/raises",
	backendtest.Dies: "fake/exits 0", backendtest.Hangs: "fake/hangs", backendtest.Full: "fake/full",
}

func fakeImplementations(operator string) (reply backend.LoadReply) {
	if operator != "scale" {
		return reply
	}
	for _, b := range []backendtest.Behaviour{
		backendtest.Right, backendtest.Declines, backendtest.Silent, backendtest.Scribbles, backendtest.Fails,
		backendtest.Dies, backendtest.Hangs, backendtest.Full,
	} {
		reply.Implementations = append(reply.Implementations, backend.Implementation{
			Name: faked[b], Op: operator, Pass: op.Forward, DTypes: []string{"fp32"}, Contract: "fp32",
			Outputs: []string{"y"}, Device: "cpu", Source: "fake",
		})
	}
	return reply
}

// conform answers a run of y = 2x by the implementation's name.
func conform(r backend.Request, conn *os.File, reply func(int64, any)) {
	ends := func(status op.Status, message string) {
		reply(r.ID, backend.RunReply{Launches: []backend.LaunchReply{{Status: status, Message: message}}})
	}
	switch name := strings.TrimPrefix(r.Run.Implementation, "fake/"); name {
	case "works", "silent", "scribbles":
		var result backend.RunReply
		for _, l := range r.Run.Launches {
			result.Launches = append(result.Launches, doubled(name, r.Run.Inputs[0], l))
		}
		reply(r.ID, result)
	case "declines":
		ends(op.StatusUnsupported, "8 elements are too many")
	case "full":
		ends(op.StatusOOM, "there is no room for 8 elements")
	case "raises", "exits 0", "hangs":
		misbehave(name, r, conn, reply)
	default:
		ends(op.StatusCrash, "there is no "+name)
	}
}

// doubled writes y = 2x, or nothing, and returns the contents of y.
func doubled(name string, in backend.TensorRef, l backend.Launch) (reply backend.LaunchReply) {
	bytes := make([]byte, in.Bytes)
	_, _ = sharedFile().ReadAt(bytes, in.Offset)
	x := tensor.Tensor{DType: in.DType, Shape: in.Shape, Stride: in.Stride, Data: bytes}
	values := x.Float64s()
	for i := range values {
		values[i] *= 2
	}
	y := l.Outputs[0]
	out := tensor.New(y.Name, y.DType, y.Shape)
	if out.SetFloat64s(values); name == "silent" {
		tensor.Poison(out.Data, y.DType, l.Poison)
	}
	_, _ = sharedFile().WriteAt(out.Data, y.Offset)
	reply.Inputs = []uint32{in.CRC32}
	if name == "scribbles" {
		reply.Inputs[0]++
	}
	reply.Outputs = []backend.OutputRef{{
		Name: y.Name, Present: true, DType: y.DType.String(), Shape: y.Shape, Stride: y.Stride,
		CRC32: crc32.ChecksumIEEE(out.Data),
	}}
	return reply
}

// TestFakeConforms: the fake worker that the tests of this package use keeps a worker's promises.
func TestFakeConforms(t *testing.T) {
	backendtest.Suite(t, backendtest.Subject{
		Operator: "scale", Family: "fake", Names: faked,
		Outputs: []op.TensorType{{Name: "y", DType: op.FP32, Shape: []int64{8}}},
		Golden:  "testdata/wire.txt",
		New: func(t *testing.T, call time.Duration, transcript io.Writer) backend.Backend {
			a := fakeAdapter(t, byName, func(o *Options) {
				o.Limits.First, o.Limits.FirstCPU, o.Limits.CallLeast = call, call, call
				o.Transcript = transcript
			})
			a.FamilyNames = []string{"fake"}
			return a
		},
	})
}
