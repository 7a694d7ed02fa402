// Includes libbsd's lists and trees through CBSD/shim.h, which finds them. Without libbsd, compilation stops in that
// header.
#pragma once

#include "../../CBSD/shim.h"
