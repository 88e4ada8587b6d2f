"""Export, import (of other tools' stores too), backup, restore, salvage."""
