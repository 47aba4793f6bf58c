/** Calling codes of two digits. "+1" and "+7" have one, all others three. */
const twoDigits = /^(?:2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])/;
/** Calling codes of countries in which a leading zero is part of the number. */
const zeroStays = new Set(['39', '378']);
const northAmerica = '1';
const shortestNumber = 7;

/** The calling code of an international number ("+12125550147" gives "1"), or undefined. */
export function callingCodeOf(number: string | null | undefined): string | undefined {
  const digits = /^\+(\d{7,15})$/.exec(number?.trim() ?? '')?.[1];
  if (digits === undefined) return undefined;
  if (/^[17]/.test(digits)) return digits.slice(0, 1);
  return digits.slice(0, twoDigits.test(digits) ? 2 : 3);
}

/** The number as it is dialled from anywhere. If the country or the area code is unknown, it stays as it was said. */
export function e164(digits: string, isInternational: boolean, code: string | undefined): string {
  if (digits.length < shortestNumber) return digits;
  if (isInternational) return `+${digits}`;
  if (/^00[1-9]/.test(digits)) return `+${digits.slice(2)}`;
  if (code === undefined) return digits;
  if (code === northAmerica) {
    if (digits.length === 10) return `+1${digits}`;
    return digits.length === 11 && digits.startsWith('1') ? `+${digits}` : digits;
  }
  if (digits.startsWith('0') && !zeroStays.has(code)) return `+${code}${digits.slice(1)}`;
  return digits.startsWith(code) && digits.length >= 11 ? `+${digits}` : `+${code}${digits}`;
}
