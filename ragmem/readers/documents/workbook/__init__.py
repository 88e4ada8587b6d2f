"""The content of an Excel workbook: sheets, the visible values of their cells, and annotations."""
