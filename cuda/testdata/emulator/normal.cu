// normal.cuh against erfc in fp64: for both signs, every exponent of fp32 and 4096 significands of each. x * Phi(x) and its derivative may be off by
// what docs/judge.md allows GELU and its gradient. `normal` prints the largest shares of that; `normal wrong` spoils one coefficient's worth.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "normal.cuh"

int main(int words, char **) {
	const double u = std::ldexp(1.0, -24), lost = std::ldexp(1.0, -148), spoil = words > 1 ? 3e-7 : 0;
	double most = 0, most_slope = 0;
	for (int sign = 0; sign < 2; sign++) {
		for (uint32_t exponent = 0; exponent < 255; exponent++) {
			for (uint32_t k = 0; k < 4096; k++) {
				const uint32_t bits = static_cast<uint32_t>(sign) << 31 | exponent << 23 | k << 11 | (k * 2654435761u >> 21);
				float x;
				memcpy(&x, &bits, sizeof x);
				if (std::fabs(x) > 1e19f) continue; // its square is infinite
				const triad::Normal got = triad::normal(x);
				const double phi = 0.5 * std::erfc(-x * std::sqrt(0.5)), density = std::exp(-0.5 * x * static_cast<double>(x)) * 0.3989422804014327;
				const double y = x * phi, slope = phi + x * density, a = std::fabs(x);
				const double allowed = u * (2 * a + 4 * std::fabs(y)) + lost * (2 + a);
				const double slope_allowed = u * (2 + a * density * (a * a + 8) + 4 * std::fabs(slope));
				most = std::fmax(most, std::fabs(static_cast<double>(x * got.phi) + x * spoil - y) / allowed);
				most_slope = std::fmax(most_slope, std::fabs(static_cast<double>(got.phi + x * got.e * 0.398942280f) + spoil - slope) / slope_allowed);
			}
		}
	}
	const bool right = most <= 1 && most_slope <= 1;
	printf("%s %.3f %.3f\n", right ? "ok" : "wrong", most, most_slope);
	return right ? 0 : 1;
}
