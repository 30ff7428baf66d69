#pragma once
#include <stdint.h>
typedef float f32;
typedef uint32_t u32;
