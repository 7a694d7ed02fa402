// Includes libbsd's lists and trees through the header that knows their location. Without libbsd, compilation stops there.
#pragma once

#include "../../CBSD/shim.h"
