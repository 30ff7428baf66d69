// The copy engine's outstanding copies of a block. Each destination is filled with ones (NaN) when its copy is asked for, and the copy is made
// when a thread waits for its barrier and nothing else is missing; one copy in four is made at once. So a missing wait and a destination that is
// still being read both show.
#ifndef CUEMU_HOPPER_COPIES_CUH
#define CUEMU_HOPPER_COPIES_CUH
#include "hopper/block_state.cuh"

namespace cuemu {

// Box is a copy of `rows` rows of 128 bytes, swizzled; of the source, valid_rows rows with valid_bytes bytes are inside, the rest is zero.
struct Box {
	uint32_t to, barrier;
	const char *from;
	int64_t row_bytes;
	int rows, valid_rows, valid_bytes;
	bool made;
};

struct Copies {
	static constexpr int most = 64;
	Box list[most];
	int count;
	uint32_t asked;

	CUEMU_PLAIN void clear() { count = 0, asked = 0; }

	// add takes a copy in; true if it is made at once.
	template <class Pointer> CUEMU_PLAIN bool add(const Box &box, Pointer pointer_to) {
		volatile uint8_t *to = static_cast<uint8_t *>(pointer_to(box.to));
		for (int i = 0; i < box.rows * 128; i++) to[i] = 0xff;
		if (++asked % 4 == 0) {
			make(box, pointer_to);
			return true;
		}
		if (count == most) __trap(); // copies that nobody waits for
		list[count++] = box;
		return false;
	}

	// make_one_for makes the youngest outstanding copy of a barrier and gives its bytes, 0 if there is none.
	template <class Pointer> CUEMU_PLAIN uint32_t make_one_for(uint32_t barrier, Pointer pointer_to) {
		for (int i = count - 1; i >= 0; i--) {
			if (list[i].barrier != barrier) continue;
			const Box box = list[i];
			list[i] = list[--count];
			make(box, pointer_to);
			return static_cast<uint32_t>(box.rows) * 128;
		}
		return 0;
	}

private:
	template <class Pointer> CUEMU_PLAIN static void make(const Box &box, Pointer pointer_to) {
		for (int row = 0; row < box.rows; row++)
			for (int byte = 0; byte < 128; byte++) {
				uint32_t at = box.to + static_cast<uint32_t>(row * 128 + byte);
				at ^= (at >> 7 & 7) << 4;
				const bool inside = row < box.valid_rows && byte < box.valid_bytes;
				*static_cast<volatile uint8_t *>(pointer_to(at)) = inside ? static_cast<uint8_t>(box.from[row * box.row_bytes + byte]) : uint8_t{0};
			}
	}
};

inline Copies &copies() { return block_state<Copies>(); }

}  // namespace cuemu
#endif
