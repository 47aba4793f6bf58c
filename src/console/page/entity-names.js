/**
 * A readable name for each type of entity. A test checks that no type is missing.
 * @type {Record<string, string>}
 */
export const entityNames = {
  ACCOUNT_NUMBER: 'Account number',
  AGE: 'Age',
  BANK_ACCOUNT: 'Bank account',
  BLOOD_TYPE: 'Blood type',
  CONDITION: 'Medical condition',
  CORPORATE_ACTION: 'Corporate action',
  CREDIT_CARD: 'Card number',
  CREDIT_CARD_EXPIRATION: 'Card expiry date',
  CVV: 'Card security code',
  DATE: 'Date',
  DATE_INTERVAL: 'Period',
  DAY: 'Day',
  DOB: 'Date of birth',
  DOSE: 'Dose',
  DRIVER_LICENSE: 'Driving licence',
  DRUG: 'Medicine',
  DURATION: 'Duration',
  EFFECT: 'Effect',
  EMAIL_ADDRESS: 'Email',
  EVENT: 'Event',
  FILENAME: 'File name',
  FINANCIAL_METRIC: 'Financial figure',
  GENDER: 'Gender',
  HEALTHCARE_NUMBER: 'Health insurance number',
  INJURY: 'Injury',
  IP_ADDRESS: 'IP address',
  LANGUAGE: 'Language',
  LOCATION: 'Place',
  LOCATION_ADDRESS: 'Address',
  LOCATION_ADDRESS_STREET: 'Street',
  LOCATION_CITY: 'City',
  LOCATION_COORDINATE: 'Coordinates',
  LOCATION_COUNTRY: 'Country',
  LOCATION_STATE: 'State or region',
  LOCATION_ZIP: 'Postcode',
  MARITAL_STATUS: 'Marital status',
  MEDICAL_CODE: 'Medical code',
  MEDICAL_PROCESS: 'Treatment',
  MONEY: 'Amount',
  MONTH: 'Month',
  NAME: 'Name',
  NAME_FAMILY: 'Surname',
  NAME_GIVEN: 'First name',
  NAME_MEDICAL_PROFESSIONAL: "Doctor's name",
  NUMERICAL_PII: 'Reference number',
  OCCUPATION: 'Occupation',
  ORGANIZATION: 'Organisation',
  ORGANIZATION_ID: 'Organisation number',
  ORGANIZATION_MEDICAL_FACILITY: 'Hospital or practice',
  ORIGIN: 'Origin',
  PASSPORT_NUMBER: 'Passport number',
  PASSWORD: 'Password',
  PHONE_NUMBER: 'Phone number',
  PHYSICAL_ATTRIBUTE: 'Appearance',
  POLITICAL_AFFILIATION: 'Political affiliation',
  PRODUCT: 'Product',
  PROJECT: 'Project',
  RELIGION: 'Religion',
  ROUTING_NUMBER: 'Bank code',
  SEXUALITY: 'Sexuality',
  SSN: 'Social security number',
  STATISTICS: 'Statistics',
  TIME: 'Time',
  TREND: 'Trend',
  URL: 'Web address',
  USERNAME: 'User name',
  VEHICLE_ID: 'Vehicle number',
  YEAR: 'Year',
  ZODIAC_SIGN: 'Star sign',
};

/**
 * A type that only a hosted service knows is shown under its own name.
 * @param {string} type
 */
export function entityName(type) {
  const known = Object.hasOwn(entityNames, type) ? entityNames[type] : undefined;
  if (known !== undefined) return known;
  const words = type.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
