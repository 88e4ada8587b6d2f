/** Runs before the first paint, so that a dark page never flashes white. */

import { chosenTheme, followSystem, showTheme } from "./theme";

showTheme(chosenTheme());
followSystem();
