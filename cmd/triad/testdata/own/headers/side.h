#pragma once

const int side = 137;
