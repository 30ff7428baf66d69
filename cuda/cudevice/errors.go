package cudevice

import (
	"fmt"

	"triad/cuda/serve"
	"triad/internal/cudaerror"
	"triad/internal/op"
)

// driverErrors holds the driver's errors that a kernel can cause, in the words of NVIDIA's documentation of
// CUresult.
var driverErrors = map[int]string{
	1: "invalid value", 2: "out of memory", 46: "the GPU is busy or unavailable",
	98: "invalid device function", 100: "no device",
	101: "invalid device", 200: "invalid kernel image", 209: "no kernel image for this GPU",
	214: "uncorrectable ECC error",
	218: "invalid PTX", 220: "uncorrectable NVLink error",
	222: "PTX of a newer toolkit than the driver knows", 700: "illegal address",
	701: "out of resources: too many registers or too much shared memory for this block",
	702: "launch timed out", 709: "the context is destroyed",
	710: "device-side assert", 714: "hardware stack error", 715: "illegal instruction",
	716: "misaligned address", 717: "invalid address space",
	718: "invalid program counter", 719: "launch failure", 720: "cooperative launch too large",
	721: "a tensor core was not freed",
	801: "operation not supported", 999: "unknown error",
}

// describe names an error of the driver.
func describe(code int) string {
	if name := driverErrors[code]; name != "" {
		return fmt.Sprintf("CUDA error %d, %s", code, name)
	}
	return fmt.Sprintf("CUDA error %d", code)
}

// findingOf returns the finding of a kernel that was launched without error and ended with one.
func findingOf(code int) serve.Finding {
	f := serve.Finding{
		Status: op.StatusCrash, Message: "the kernel ended with " + describe(code), Dirty: true,
	}
	switch code {
	case cudaerror.OutOfMemory:
		f.Status = op.StatusOOM
	case 702:
		f.Status = op.StatusHang
	}
	return f
}
