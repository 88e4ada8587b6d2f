"""What is in an Excel workbook: sheets, their cells as they are shown, and what is written beside them."""
