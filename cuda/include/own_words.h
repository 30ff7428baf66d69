/* own_words.h: a call of a function of a user's file, as the worker makes it and own_call.cuh reads it. Plain C. */
#ifndef TRIAD_OWN_WORDS_H
#define TRIAD_OWN_WORDS_H
#include "abi.h"

/* call.size says that words are there: what the function is given, computed for this call (internal/ownfile/shim/call.go). */
typedef struct { triad_call call; const int64_t *words; } triad_own_call_t;

#endif
