// Writes a finding of its own into every file that it has inherited, and into the one that its environment names.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

__global__ void nothing() {}

int main() {
	const char forged[] = "{\"kind\":\"race\",\"kernel\":\"forged\",\"message\":\"forged\"}\n";
	nothing<<<1, 1>>>();
	cudaDeviceSynchronize();
	for (int file = 3; file < 64; file++) (void)!write(file, forged, strlen(forged));
	if (FILE *named = fopen(getenv("CUEMU_FINDINGS"), "a")) fputs(forged, named), fclose(named);
	FILE *environment = fopen("/proc/self/environ", "r");
	char text[1 << 16];
	const size_t n = fread(text, 1, sizeof text, environment);
	for (size_t i = 0; i + 20 < n; i++)
		if (!memcmp(text + i, "CUEMU_FINDINGS_KEY=", 19)) printf("key %s\n", text + i + 19);
	return 0;
}
